/**
 * Peer (b): Koa with `@koa/router`, the form parser of `koa-bodyparser` and a role look-up in a map; it only signs. Also answers 304, to a caller
 * whose certificate it knows and whose dates hold.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import Router from '@koa/router';
import { systemClock } from '@signet/policy-engine/clock';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import { createTokenSigner, tokenAnswer } from './signed-token.ts';
import { listen, type TlsFiles, tlsFilesFromArguments } from './tls-files.ts';

const rolesOf = new Map([['catalog:domain media.studio', ['reader', 'editor']]]);
const bundleTag = '"1-1-0123456789abcdef"';

/** The certificate is read once a connection: reading it costs more than a signature. */
const principals = new WeakMap<Socket, string>();

function principalOf(socket: Socket): string {
  const known = principals.get(socket);
  if (known !== undefined) return known;
  const subject = socket instanceof TLSSocket ? socket.getPeerCertificate().subject.CN : undefined;
  const name = typeof subject === 'string' ? subject : '';
  principals.set(socket, name);
  return name;
}

/** A certificate and until when it may be used, in milliseconds. */
interface Known {
  readonly name: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Callers by the fingerprint of a certificate: those of the files that follow the three usual ones. */
const callers = new Map<string, Known>(
  process.argv.slice(5).map((file) => {
    const { fingerprint256, subject, validFromDate, validToDate } = new X509Certificate(readFileSync(file));
    const name = subject.replace('CN=', '');
    return [fingerprint256, { name, notBefore: validFromDate.getTime(), notAfter: validToDate.getTime() }];
  }),
);

/** Cache, as above: the fingerprint is computed once a connection. */
const fingerprints = new WeakMap<Socket, string>();

/** The caller, looked up and with dates that hold, for each request. */
function callerOf(socket: Socket): string | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const fingerprint = fingerprints.get(socket) ?? socket.getPeerX509Certificate()?.fingerprint256 ?? '';
  fingerprints.set(socket, fingerprint);
  const known = callers.get(fingerprint);
  const now = systemClock.now();
  return known !== undefined && now >= known.notBefore && now <= known.notAfter ? known.name : undefined;
}

function createApp(baseUrl: string): Koa {
  const signer = createTokenSigner(`${baseUrl}/v1`);
  const router = new Router({ prefix: '/v1' });
  router.post('/oauth2/token', bodyParser({ enableTypes: ['form'] }), (context) => {
    const form = context.request.body;
    const scope = typeof form === 'object' && form !== null && 'scope' in form ? form.scope : undefined;
    const roles = rolesOf.get(`${scope} ${principalOf(context.req.socket)}`);
    if (roles === undefined) return context.throw(403);
    context.set('cache-control', 'no-store');
    context.body = tokenAnswer(signer.accessToken(roles), roles);
  });
  router.get('/domain/:domain/policy/signed', (context) => {
    const caller = callerOf(context.req.socket);
    if (caller === undefined) return context.throw(401);
    const roles = rolesOf.get(`${context.params['domain']}:domain ${caller}`);
    if (roles === undefined) return context.throw(403);
    context.set('etag', bundleTag);
    context.status = 200;
    if (context.fresh) context.status = 304;
    else context.body = { payload: '' };
  });
  const app = new Koa();
  app.use(router.routes());
  return app;
}

const files: TlsFiles = tlsFilesFromArguments();
listen(files, (baseUrl) => {
  const callback = createApp(baseUrl).callback();
  return (request, response) => void callback(request, response);
});
