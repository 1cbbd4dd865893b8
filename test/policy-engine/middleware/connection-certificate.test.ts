import type { X509Certificate } from 'node:crypto';
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
