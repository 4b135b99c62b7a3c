#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H

#include <malloc.h>  // what OpenSSL has freed goes back to the system
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// Macros that Swift cannot import, each wrapped in a function or a constant. No logic belongs here.

static const uint64_t COpenSSL_SSL_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;
static const uint64_t COpenSSL_SSL_OP_NO_TICKET = SSL_OP_NO_TICKET;
static const uint64_t COpenSSL_SSL_OP_CIPHER_SERVER_PREFERENCE = SSL_OP_CIPHER_SERVER_PREFERENCE;
static const unsigned long COpenSSL_XN_FLAG_RFC2253 = XN_FLAG_RFC2253;

static inline long COpenSSL_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}
static inline long COpenSSL_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_mode(context, mode);
}
static inline long COpenSSL_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_session_cache_mode(context, mode);
}
static inline long COpenSSL_SSL_CTX_set_read_ahead(SSL_CTX *context, long yes) {
    return SSL_CTX_set_read_ahead(context, yes);
}
static inline long COpenSSL_SSL_CTX_add1_chain_cert(SSL_CTX *context, X509 *certificate) {
    return SSL_CTX_add1_chain_cert(context, certificate);
}
static inline long COpenSSL_SSL_set_tlsext_host_name(SSL *ssl, const char *name) {
    return SSL_set_tlsext_host_name(ssl, name);
}
static inline long COpenSSL_BIO_get_mem_data(BIO *bio, char **bytes) {
    return BIO_get_mem_data(bio, bytes);
}
static inline int COpenSSL_sk_X509_num(const STACK_OF(X509) *stack) {
    return sk_X509_num(stack);
}
static inline X509 *COpenSSL_sk_X509_value(const STACK_OF(X509) *stack, int index) {
    return sk_X509_value(stack, index);
}
static inline void COpenSSL_sk_X509_pop_free(STACK_OF(X509) *stack) {
    sk_X509_pop_free(stack, X509_free);
}
static inline int COpenSSL_sk_X509_NAME_push(STACK_OF(X509_NAME) *stack, X509_NAME *name) {
    return sk_X509_NAME_push(stack, name);
}
static inline STACK_OF(X509_NAME) *COpenSSL_sk_X509_NAME_new_null(void) {
    return sk_X509_NAME_new_null();
}
static inline void COpenSSL_OPENSSL_free(void *memory) {
    OPENSSL_free(memory);
}
static inline EVP_PKEY *COpenSSL_EVP_EC_gen(const char *curve) {
    return EVP_EC_gen(curve);
}
static inline EVP_PKEY *COpenSSL_EVP_RSA_gen(unsigned int bits) {
    return EVP_RSA_gen(bits);
}

#endif
