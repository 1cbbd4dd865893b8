import { splitPrincipal } from '@signet/policy-engine/names';
import { ForbiddenError } from '../errors.ts';
import type { CertificateStore } from '../model/certificate-store.ts';
import type { InstanceKey, InstanceStore } from '../model/instance-store.ts';
import type { AskingCertificate, SshHost } from '../ssh/issue-ssh.ts';
import { altNamesOf, readCertificate } from '../x509/certificate-reader.ts';
import { carriesInstanceId } from '../x509/instance-id.ts';
import { hostNamesOf, instanceIdName, type NamingRules } from '../x509/naming.ts';
import type { Caller } from './caller.ts';

interface CallingHostDeps {
  readonly certificates: Pick<CertificateStore, 'find'>;
  readonly instances: Pick<InstanceStore, 'statusOf'>;
  readonly naming: NamingRules;
}

/**
 * The host that asks for an SSH certificate with its own X.509 certificate, whose DNS names are its names. An instance gets one only
 * with a certificate of its lineage, and when its provider allowed it. Throws `ForbiddenError`.
 */
export async function callingHost(deps: CallingHostDeps, caller: Caller, asking: AskingCertificate): Promise<SshHost> {
  const certificate = readCertificate(caller.certificate.der);
  const dns = altNamesOf(certificate).flatMap(({ kind, value }) => (kind === 'dns' ? [value] : []));
  const host = { service: caller.principal, asking, namesAt: () => hostNamesOf(dns, undefined) };
  const row = await deps.certificates.find(caller.certificate.serial);
  if (row?.kind === 'service' || (row === undefined && !carriesInstanceId(certificate))) return host;
  const tenant = splitPrincipal(caller.principal);
  if (row?.provider === undefined || row.instanceId === undefined || tenant === undefined) {
    throw new ForbiddenError('the certificate of an instance is not known here, it must register again');
  }
  const { provider, instanceId } = row;
  const key = { provider, ...tenant, instanceId };
  const names = hostNamesOf(dns, instanceIdName(deps.naming, key));
  const stillAllowed = () => requireSshAllowed(deps, key, caller.certificate.serial);
  await stillAllowed();
  return { ...host, namesAt: () => names, provider, instanceId, stillAllowed };
}

async function requireSshAllowed({ instances }: CallingHostDeps, key: InstanceKey, presented: string): Promise<void> {
  const status = await instances.statusOf(key, presented);
  if (status?.lineage !== 'current' && status?.lineage !== 'previous') {
    throw new ForbiddenError('the certificate is not the current one of a registered instance');
  }
  if (!status.sshAllowed) {
    throw new ForbiddenError(`provider \`${key.provider}\` does not allow this instance an SSH certificate`);
  }
}
