import { certificateRefusal } from '@signet/server/http/certificate-refusal';
import test from 'ava';
import { makeCertificate } from '#support/certificate-maker';

/* Text for the holder of a certificate that TLS did not accept: few texts, which reveal nothing of the server beside its trust. */

const now = 1_767_225_600_000;
const { certificate } = await makeCertificate({ name: 'media.player', now });
const [from, to] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
const unknown = ': it was not issued by a trusted authority';

for (const [code, at, reason] of [
  ['CERT_HAS_EXPIRED', to + 1, ': it has expired, renew it'],
  ['CERT_HAS_EXPIRED', to, ': a certificate of its chain has expired'],
  ['CERT_NOT_YET_VALID', from - 1, ': it is not valid yet, check the clocks'],
  ['CERT_NOT_YET_VALID', from, ': a certificate of its chain is not valid yet'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', now, ': its issuer is not known here, send the intermediate certificate with it'],
  ['UNABLE_TO_GET_ISSUER_CERT', now, unknown],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', now, unknown],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', now, unknown],
  ['SELF_SIGNED_CERT_IN_CHAIN', now, unknown],
  ['CERT_SIGNATURE_FAILURE', now, ': a signature of its chain is not that of its issuer'],
  ['INVALID_PURPOSE', now, ': it, or its issuer, is not for client authentication'],
  ['CERT_REVOKED', now, ': it was revoked'],
  ['what a later OpenSSL says', now, ''],
] as const) {
  test(`${code}${reason}`, (t) => {
    t.is(certificateRefusal(certificate, code, at), `client certificate is not valid${reason}`);
  });
}
