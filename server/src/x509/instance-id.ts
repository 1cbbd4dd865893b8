import { altNamesOf, type ReadCertificate } from './certificate-reader.ts';

/**
 * True if a certificate carries the id of an instance in its names. Every instance's certificate does; for one whose row is missing in the store
 * (after a restore), nothing else is known.
 */
export function carriesInstanceId(certificate: ReadCertificate): boolean {
  return altNamesOf(certificate).some(({ kind, value }) =>
    kind === 'dns' ? /\.instanceid\./i.test(value) : kind === 'uri' && /^athenz:\/\/instanceid\//i.test(value),
  );
}
