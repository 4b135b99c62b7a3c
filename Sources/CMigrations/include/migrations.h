// The files of migrations/, which the program contains.
#ifndef CMIGRATIONS_H
#define CMIGRATIONS_H

#include <stddef.h>

// Strings that end with a null byte.
struct cmigrations_file {
    const char *path;  // below migrations/, such as "views/pending.sql"
    const char *text;
};

const struct cmigrations_file *cmigrations_files(void);
size_t cmigrations_count(void);

#endif
