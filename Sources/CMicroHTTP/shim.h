#ifndef CMICROHTTP_SHIM_H
#define CMICROHTTP_SHIM_H

#include <microhttpd.h>

#endif
