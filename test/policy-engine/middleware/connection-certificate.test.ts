import type { X509Certificate } from 'node:crypto';
import { EventEmitter } from 'node:events';
import test from 'ava';
import { makeCertificate } from '#support/certificate-maker';
import { internals } from '../../limits/row.ts';

/* Certificates of connections that may have another handshake, where only a signature tells whose they are. */

const now = 1_767_225_600_000;
const { ConnectionCertificates } = await internals<{
  ConnectionCertificates: new (options: object) => { of(socket: object): X509Certificate | undefined };
}>('policy-engine/src/middleware/connection-certificate.ts');

const root = await makeCertificate({ name: 'root', isAuthority: true });
const player = await makeCertificate({ name: 'media.player', issuer: root });
const other = await makeCertificate({ name: 'media.other', issuer: root });
const foreign = await makeCertificate({ name: 'foreign', isAuthority: true });
const stranger = await makeCertificate({ name: 'media.player' });

test('each request has the certificate that its connection has then, or none', (t) => {
  const certificates = new ConnectionCertificates({ authorities: root.pem, clock: { now: () => now } });
  let held: X509Certificate | undefined = player.certificate;
  const socket = { authorized: true, getProtocol: () => 'TLSv1.2', getPeerX509Certificate: () => held };
  const seen = (next: X509Certificate | undefined) => {
    held = next;
    return certificates.of(socket)?.subject;
  };
  t.is(seen(player.certificate), 'CN=media.player');
  t.is(seen(player.certificate), 'CN=media.player');
  t.is(seen(undefined), undefined);
  t.is(seen(other.certificate), 'CN=media.other');
  t.is(seen(stranger.certificate), undefined);
  t.is(seen(player.certificate), 'CN=media.player');
});

test('where another handshake may follow, the word of TLS does not count for authorities that change either', (t) => {
  const certificates = new ConnectionCertificates({ authorities: () => root.pem, clock: { now: () => now } });
  const seen = (certificate: X509Certificate, protocol: string) =>
    certificates.of({ authorized: true, getProtocol: () => protocol, getPeerX509Certificate: () => certificate });
  t.is(seen(stranger.certificate, 'TLSv1.2'), undefined);
  t.is(seen(player.certificate, 'TLSv1.2')?.subject, 'CN=media.player');
  // TLS has seen the intermediates, which Node does not tell.
  t.is(seen(stranger.certificate, 'TLSv1.3')?.subject, 'CN=media.player');
});

test('a server that refuses renegotiation, or speaks TLS 1.3, is not warned of', async (t) => {
  const certificates = new ConnectionCertificates({ clock: { now: () => now } });
  const warnings: unknown[] = [];
  const listener = (warning: Error) => warnings.push('code' in warning && warning.code);
  process.on('warning', listener);
  t.teardown(() => process.off('warning', listener));
  const seen = (authorized: boolean, protocol: string) =>
    certificates.of({ authorized, getProtocol: () => protocol, getPeerX509Certificate: () => player.certificate });
  t.is(seen(true, 'TLSv1.3')?.subject, 'CN=media.player');
  t.is(seen(false, 'TLSv1.3'), undefined);
  t.is(seen(false, 'TLSv1.2'), undefined);
  await new Promise(setImmediate);
  t.false(warnings.includes('SIGNET_RENEGOTIATION'));
  t.is(seen(true, 'TLSv1.2'), undefined);
  await new Promise(setImmediate);
  t.true(warnings.includes('SIGNET_RENEGOTIATION'));
});

for (const [protocol, reads] of [
  ['TLSv1.3', 1],
  ['TLSv1.2', 4],
] as const) {
  test(`the certificate of a connection over ${protocol} is read ${reads === 1 ? 'once' : 'at each request'}`, (t) => {
    let count = 0;
    const getPeerX509Certificate = () => {
      count += 1;
      return player.certificate;
    };
    for (const authorities of [root.pem, () => root.pem]) {
      const certificates = new ConnectionCertificates({ authorities, clock: { now: () => now } });
      const socket = { authorized: true, getProtocol: () => protocol, getPeerX509Certificate };
      count = 0;
      for (let request = 0; request < 4; request += 1) t.is(certificates.of(socket)?.subject, 'CN=media.player');
      t.is(count, reads, 'authorities that do not change');
    }
  });
}

test('a server and its connections are followed once, however many ask and however many requests come', (t) => {
  const server = new EventEmitter();
  let authorities = root.pem;
  const all = Array.from(
    { length: 20 },
    () => new ConnectionCertificates({ authorities: () => authorities, clock: { now: () => now } }),
  );
  const ends = { remoteAddress: '192.0.2.1', localAddress: '192.0.2.2', localPort: 443 };
  const tls = { server, authorized: true, getProtocol: () => 'TLSv1.3' };
  const over = (below: object, { certificate }: typeof player) => {
    return { ...below, ...tls, getPeerX509Certificate: () => certificate };
  };
  const begin = (remotePort: number) => {
    const below = Object.assign(new EventEmitter(), ends, { remotePort });
    server.emit('connection', below);
    return below;
  };
  for (let port = 1; port < 5; port += 1) {
    const socket = over({ ...ends, remotePort: port }, player);
    for (const certificates of all) t.is(certificates.of(socket)?.subject, 'CN=media.player');
  }
  t.is(server.listenerCount('connection'), 1);
  const first = begin(5);
  t.is(first.listenerCount('close'), 1);
  const [before, seen] = [over(first, player), (socket: object) => all.map((each) => each.of(socket)?.subject)];
  t.deepEqual(new Set(seen(before)), new Set(['CN=media.player']));
  authorities = foreign.pem;
  // Unknown issuer: only TLS has seen it.
  const after = over(begin(6), stranger);
  t.deepEqual(new Set(seen(after)), new Set(['CN=media.player']), 'began after the authority was taken away');
  t.deepEqual(new Set(seen(before)), new Set([undefined]), 'began before');
  first.emit('close');
  t.deepEqual(new Set(seen(over({ ...ends, remotePort: 5 }, stranger))), new Set([undefined]), 'is gone');
});

test('the refusal of TLS is final, but for a chain of authorities that it does not know', (t) => {
  for (const authorities of [root.pem, () => root.pem]) {
    const certificates = new ConnectionCertificates({ authorities, clock: { now: () => now } });
    const seen = (authorizationError: string | null, more: object = {}) => {
      const connection = { authorized: authorizationError === null, authorizationError, ...more };
      const socket = { getProtocol: () => 'TLSv1.3', getPeerX509Certificate: () => player.certificate, ...connection };
      return certificates.of(socket) !== undefined;
    };
    const lists = { server: { crl: 'a list' } };
    t.true(seen(null));
    t.true(seen(null, lists));
    for (const code of ['CERT_REVOKED', 'UNSPECIFIED', 'CERT_HAS_EXPIRED', 'INVALID_PURPOSE', 'UNABLE_TO_GET_CRL']) {
      t.false(seen(code), code);
    }
    const unknown = 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
    t.true(seen(unknown));
    // Lists of revoked certificates are known to TLS alone, and who leaves an intermediate out must not get around them.
    t.false(seen(unknown, lists));
    t.false(seen(unknown, { _SNICallback: () => undefined }));
    t.false(seen(null, { ...lists, getProtocol: () => 'TLSv1.2' }));
  }
});
