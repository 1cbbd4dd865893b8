import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { hostOf } from '../../config/config.ts';
import { isIssuer } from '../doctor/certificate-checks.ts';
import { endsSoon, type Finding, spanOf } from '../doctor/finding.ts';
import type { CertificateFile, ConfiguredFiles } from './configured-files.ts';

interface Around {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** True if the server replaces its certificate by itself. */
  readonly renew: boolean;
  /** Address that clients use. */
  readonly baseUrl: string;
}

/** Findings about the certificates and revocation lists of a configuration: lives, names, usage and chains. */
export function certificateFindings(files: ConfiguredFiles, around: Around): Finding<string>[] {
  const { server, clientCa, roots, issuers, lists } = files;
  const { now } = around;
  const isApart = roots !== undefined && roots.option !== clientCa?.option;
  const anchors = [...(clientCa?.certificates ?? []), ...(isApart ? roots.certificates : [])];
  return [
    ...(server === undefined ? [] : serverFindings(server, anchors, around)),
    ...(clientCa === undefined ? [] : authorityFindings(clientCa, now)),
    ...(isApart ? authorityFindings(roots, now) : []),
    ...issuers.flatMap((issuer) => issuerFindings(issuer, roots, now)),
    ...lists.map(({ option, file, nextUpdate }) => listFinding({ option, file }, nextUpdate * 1000 - now)),
  ];
}

function serverFindings(server: CertificateFile, anchors: readonly X509Certificate[], around: Around) {
  const [leaf, ...others] = server.certificates;
  if (leaf === undefined) return [];
  const { now, renew, baseUrl } = around;
  const advice = renew ? 'the server replaces it at its start (`tls.renew`)' : 'replace it, or set `tls.renew`';
  const life = lifeOf(leaf, now);
  const isRenewed = renew && (life.state === 'soon' || life.state === 'ended');
  return [
    { ...lifeFinding(server, leaf, now, advice), ...(isRenewed && { state: 'warning' as const }) },
    ...(others.length === 0 ? [] : livesOf({ ...server, certificates: others }, now)),
    nameFinding(server, leaf, hostOf(baseUrl)),
    ...usageFindings(server, leaf),
    chainFinding(server, anchors),
  ];
}

type Life = { readonly state: 'good' | 'soon' | 'ended' | 'future'; readonly span: string };

function lifeOf({ validFromDate, validToDate }: X509Certificate, now: number): Life {
  const [from, to] = [validFromDate.getTime(), validToDate.getTime()];
  if (now < from) return { state: 'future', span: spanOf(from - now) };
  if (now >= to) return { state: 'ended', span: spanOf(now - to) };
  return { state: endsSoon(from, to, now) ? 'soon' : 'good', span: spanOf(to - now) };
}

function lifeFinding({ option, file }: CertificateFile, certificate: X509Certificate, now: number, advice: string) {
  const { state, span } = lifeOf(certificate, now);
  const name = `\`${nameOf(certificate)}\` in \`${file}\``;
  const check = option;
  if (state === 'future') {
    const clock = 'check the clock of this machine; if it is right, get another certificate';
    return finding(check, 'failed', `${name} is not valid before ${span} from now`, clock);
  }
  if (state === 'ended') return finding(check, 'failed', `${name} expired ${span} ago`, advice);
  return finding(check, state === 'soon' ? 'warning' : 'ok', `${name} is valid for ${span}`, advice);
}

/** Findings about lives: one line for all that are valid, one for each other. */
function livesOf(file: CertificateFile, now: number): Finding<string>[] {
  const advice = 'replace it in the file, or remove it if nothing depends on it';
  const all = file.certificates.map((certificate) => lifeFinding(file, certificate, now, advice));
  const bad = all.filter(({ state }) => state !== 'ok');
  if (bad.length > 0) return bad;
  return all.length === 1 ? all : [finding(file.option, 'ok', `all ${all.length} in \`${file.file}\` are valid`)];
}

/** Findings about authorities: an old one may have expired, as long as another one is valid. */
function authorityFindings(file: CertificateFile, now: number): Finding<string>[] {
  const found = livesOf(file, now);
  const counts = file.certificates.some((certificate) => /good|soon/.test(lifeOf(certificate, now).state));
  return counts ? found.map((each) => (each.state === 'failed' ? { ...each, state: 'warning' } : each)) : found;
}

function nameFinding({ option, file }: CertificateFile, leaf: X509Certificate, host: string): Finding<string> {
  const isNamed = (isIP(host) === 0 ? leaf.checkHost(host, { subject: 'never' }) : leaf.checkIP(host)) !== undefined;
  if (isNamed) return finding(option, 'ok', `it names \`${host}\`, the host that clients use`);
  const names = leaf.subjectAltName ?? 'no host';
  const advice = 'get a certificate with that name, or set `baseUrl` to one that it has';
  return finding(
    option,
    'failed',
    `\`${file}\` does not name \`${host}\`, the host that clients call, but ${names}`,
    advice,
  );
}

const serverUsage = '1.3.6.1.5.5.7.3.1';

function usageFindings({ option, file }: CertificateFile, leaf: X509Certificate): Finding<string>[] {
  // Node calls the extended key usages so; absent: any usage.
  const usages: readonly string[] | undefined = leaf.keyUsage;
  if (usages === undefined || usages.includes(serverUsage)) return [];
  const advice = 'get a certificate with the extended key usage serverAuth';
  return [finding(option, 'failed', `\`${file}\` is not for servers`, advice)];
}

function chainFinding(server: CertificateFile, anchors: readonly X509Certificate[]): Finding<string> {
  const end = missingLink(server.certificates, anchors);
  if (end === undefined)
    return finding(server.option, 'ok', 'it chains to an authority in `tls.clientCa` or the roots');
  const advice = 'append the intermediate certificates to its file, unless clients trust another authority';
  return finding(
    server.option,
    'warning',
    `no certificate for \`${end}\` is in its file, in \`tls.clientCa\` or the roots`,
    advice,
  );
}

function issuerFindings(issuer: CertificateFile, roots: CertificateFile | undefined, now: number): Finding<string>[] {
  const lives = livesOf(issuer, now);
  if (roots === undefined) return lives;
  const end = missingLink(issuer.certificates, roots.certificates);
  if (end === undefined) return [...lives, finding(issuer.option, 'ok', `it chains to a root in \`${roots.option}\``)];
  const advice = `append its intermediate certificates to its file, and add the root to \`${roots.option}\``;
  const found = `no certificate for \`${end}\` is in \`${issuer.file}\` or \`${roots.option}\`: no verifier trusts the certificates that it issues`;
  return [...lives, finding(issuer.option, 'failed', found, advice)];
}

/** Issuer name of the last certificate found on the way to an anchor; undefined when the way leads there. */
function missingLink(chain: readonly X509Certificate[], anchors: readonly X509Certificate[]): string | undefined {
  const [first] = chain;
  let at = first;
  for (let steps = 0; at !== undefined && steps <= chain.length; steps += 1) {
    const last = at;
    if (anchors.some((anchor) => anchor.fingerprint256 === last.fingerprint256 || isIssuer(last, anchor)))
      return undefined;
    const next = chain.find((each) => each !== last && isIssuer(last, each));
    if (next === undefined) return oneLine(last.issuer);
    at = next;
  }
  return at === undefined ? '' : oneLine(at.issuer);
}

function listFinding({ option, file }: { option: string; file: string }, left: number): Finding<string> {
  const advice = 'create it again with `signet ca root-crl` where the root key is';
  if (left <= 0) return finding(option, 'warning', `\`${file}\` ended ${spanOf(left)} ago`, advice);
  return finding(option, 'ok', `\`${file}\` is valid for ${spanOf(left)}`);
}

function nameOf({ subject, serialNumber }: X509Certificate): string {
  return subject === '' || subject === undefined ? `serial number ${serialNumber}` : oneLine(subject);
}

function oneLine(name: string): string {
  return name.replaceAll('\n', ', ');
}

/** Finding; advice is dropped for a good state. */
function finding(check: string, state: Finding['state'], found: string, advice?: string): Finding<string> {
  return { check, state, found, ...(state !== 'ok' && advice !== undefined && { advice }) };
}
