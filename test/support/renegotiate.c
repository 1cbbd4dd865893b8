/*
 * A TLS 1.2 client that asks once with one certificate, renegotiates with another, and asks again on the same connection.
 *   renegotiate PORT REQUEST CERT1 KEY1 CERT2 KEY2
 * REQUEST is the whole request of HTTP/1.1. Prints each answer and a line `-- renegotiated` or `-- refused` between them.
 * Exit status 0 when the renegotiation succeeded, 1 when the server refused it, 2 for everything else.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(2);
}

static void use(SSL *ssl, const char *certificate, const char *key) {
  SSL_certs_clear(ssl);
  if (SSL_use_certificate_chain_file(ssl, certificate) != 1) fail("certificate");
  if (SSL_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1) fail("key");
}

/* Sends the request and prints one answer, whose end is told by its content-length. Returns 0 when the connection is gone. */
static int ask(SSL *ssl, const char *request) {
  static char answer[65536];
  size_t length = 0, wanted = 0;
  if (SSL_write(ssl, request, (int)strlen(request)) <= 0) return 0;
  while (wanted == 0 || length < wanted) {
    int got = SSL_read(ssl, answer + length, (int)(sizeof answer - 1 - length));
    if (got <= 0) return 0;
    length += (size_t)got;
    answer[length] = 0;
    char *end = strstr(answer, "\r\n\r\n");
    char *header = strcasestr(answer, "content-length:");
    if (end != NULL && header != NULL) wanted = (size_t)(end - answer) + 4 + strtoul(header + 15, NULL, 10);
  }
  printf("%s\n", answer);
  return 1;
}

int main(int count, char **arguments) {
  if (count != 7) fail("usage");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(arguments[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  SSL *ssl = SSL_new(context);
  use(ssl, arguments[3], arguments[4]);
  SSL_set_fd(ssl, connection);
  if (SSL_connect(ssl) != 1) fail("handshake");
  if (!ask(ssl, arguments[2])) fail("first answer");
  use(ssl, arguments[5], arguments[6]);
  SSL_renegotiate(ssl);
  if (SSL_do_handshake(ssl) != 1 || !ask(ssl, arguments[2])) {
    printf("-- refused\n");
    return 1;
  }
  printf("-- renegotiated\n");
  return 0;
}
