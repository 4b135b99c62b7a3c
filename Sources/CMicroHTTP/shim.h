// Variadic functions are out of Swift's sight, so the one that starts a server is called from here.
#ifndef CMICROHTTP_SHIM_H
#define CMICROHTTP_SHIM_H

#include <microhttpd.h>

static inline struct MHD_Daemon *cmicrohttp_start(
    unsigned int flags,
    MHD_AccessHandlerCallback handler,
    MHD_RequestCompletedCallback completed,
    void *context,
    struct MHD_OptionItem *options
) {
    return MHD_start_daemon(
        flags, 0, NULL, NULL, handler, context,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_ARRAY, options,
        MHD_OPTION_END
    );
}

#endif
