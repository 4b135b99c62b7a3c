// Swift cannot call variadic functions, so the ones needed are wrapped here.
#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H

#define CURL_DISABLE_DEPRECATION
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

static inline CURLcode ccurl_set_number(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

// Root certificates as PEM, which are copied.
static inline CURLcode ccurl_set_roots(CURL *easy, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
}

static inline CURLcode ccurl_set_callbacks(
    CURL *easy, curl_write_callback header, curl_write_callback body, curl_opensocket_callback socket, void *context
) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, socket);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
    return code;
}

// libcurl shows a debug function what it receives before it undoes anything of it. With one, it writes nothing of it anywhere itself.
static inline CURLcode ccurl_count_received(
    CURL *easy, curl_debug_callback received, curl_xferinfo_callback progress, void *context
) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, received);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_DEBUGDATA, context);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, progress);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_XFERINFODATA, context);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    return code;
}

static inline long ccurl_status(CURL *easy) {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

// Without it, a transfer whose name is still being looked up ends only after the look-up, and holds up all others. Since 7.87.
static inline CURLcode ccurl_do_not_wait_for_resolver(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075700
    return curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#else
    return CURLE_OK;
#endif
}

// In seconds; 0 if there is none.
static inline curl_off_t ccurl_retry_after(CURL *easy) {
    curl_off_t seconds = 0;
    curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
    return seconds;
}

#endif
