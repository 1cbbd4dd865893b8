import { X509Certificate } from 'node:crypto';
import { type IdentityTexts, identityLife, identityPaths, readIdentityFiles, readSshCertificate } from '@signet/client';
import { formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { CommandFailedError, print } from '../run.ts';

interface StatusOptions {
  readonly dir: string;
  readonly json?: boolean;
}

/** Shows what is in a folder and when it is renewed. Throws `CommandFailedError` when there is none, or it has expired. */
export async function showIdentity({ dir, json }: StatusOptions): Promise<void> {
  const texts = await readIdentityFiles(dir);
  if (texts === undefined) {
    print({ state: 'missing' }, json);
    throw new CommandFailedError();
  }
  const now = systemClock.now();
  const leaf = new X509Certificate(texts.certificate);
  const { issuedAt, notAfter, renewAfterMs } = identityLife(texts, now);
  const renewAt = issuedAt + renewAfterMs;
  const state = notAfter <= now ? 'ended' : renewAt <= now ? 'due' : 'valid';
  const { certificate, key } = identityPaths(dir);
  const subject = leaf.subject.replace(/^CN=/, '');
  const serial = leaf.serialNumber.toLowerCase();
  const times = { notAfter: formatTimestamp(notAfter), renewAt: formatTimestamp(renewAt) };
  print({ state, subject, serial, ...times, certificate, key, ...sshStatus(dir, texts) }, json);
  if (state === 'ended') throw new CommandFailedError();
}

function sshStatus(dir: string, { sshHostCertificate }: IdentityTexts): Record<string, string> {
  if (sshHostCertificate === undefined) return {};
  const { notAfter } = readSshCertificate(sshHostCertificate);
  return {
    sshHostCertificate: identityPaths(dir).sshHostCertificate,
    sshHostNotAfter: formatTimestamp(notAfter),
  };
}
