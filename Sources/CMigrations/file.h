// A row of files.c, which defines SQL as the file's path from here and includes this. No guard: it does so for each file.
{
    &SQL[sizeof "../../migrations"],
    (const char[]){
#embed SQL suffix(, 0)
    },
},
#undef SQL
