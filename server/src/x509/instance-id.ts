import { altNamesOf, type ReadCertificate } from './certificate-reader.ts';

/**
 * Whether a certificate carries the id of an instance in its names. Every instance's certificate does; for one whose row the store does not
 * have (a store that was restored), it is all that is known.
 */
export function carriesInstanceId(certificate: ReadCertificate): boolean {
  return altNamesOf(certificate).some(({ kind, value }) =>
    kind === 'dns' ? /\.instanceid\./i.test(value) : kind === 'uri' && /^athenz:\/\/instanceid\//i.test(value),
  );
}
