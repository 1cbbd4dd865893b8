import { parsePrincipalName } from '@signet/policy-engine/names';
import { parseArguments } from './arguments.ts';
import { SignetClientError } from './client-errors.ts';
import { decodeObject, isObject, malformed, stringMember } from './decode.ts';
import type { Http } from './http/http.ts';
import type { Identity } from './http/identity.ts';
import { commonName } from './roles.ts';

/** Content of an SSH certificate. Its signature is not verified here. */
export interface SshCertificateFacts {
  readonly kind: 'user' | 'host';
  readonly serial: bigint;
  readonly keyId: string;
  readonly principals: readonly string[];
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** An SSH certificate and who signed it. */
export interface SshCertificate extends SshCertificateFacts {
  /** The line of a `-cert.pub` file, without its end. */
  readonly certificate: string;
  /** The public key of the authority, as `known_hosts` and `TrustedUserCAKeys` hold it. */
  readonly signer: string;
}

/** A request for an SSH user certificate. */
export interface SshUserCertificateQuery {
  /** The line of a `.pub` file. */
  readonly publicKey: string;
  /** The logins to certify: `deploy`, or `media:deploy` for one that belongs to a domain. */
  readonly logins: readonly string[];
  readonly signal?: AbortSignal;
}

/** Exactly one of `serial` and `keyId`. */
export interface SshRevocationQuery {
  readonly serial?: bigint | undefined;
  readonly keyId?: string | undefined;
  /** `unspecified` (default), `key-compromise`, `affiliation-changed`, `superseded` or `cessation-of-operation`. */
  readonly reason?: string | undefined;
  readonly signal?: AbortSignal;
}

/** SSH certificates for the caller. */
export class SshCertificates {
  readonly #http: Http;
  readonly #identity: () => Promise<Identity>;

  constructor(http: Http, identity: () => Promise<Identity>) {
    this.#http = http;
    this.#identity = identity;
  }

  /** `POST /sshcert` for a user: a certificate over a key that the caller has. Throws `refused` with 403 when a login is not granted. */
  async user({ publicKey, logins, signal }: SshUserCertificateQuery): Promise<SshCertificate> {
    const { subject } = await this.#identity();
    const requestor = parseArguments(() => parsePrincipalName(commonName(subject), 'principal'));
    const { body } = await this.#http.send({
      method: 'POST',
      path: ['sshcert'],
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        certRequestData: { principals: logins, publicKey: publicKey.trim() },
        certRequestMeta: { requestor, certType: 'user' },
      }),
      signal,
    });
    const answer = decodeObject(body);
    const [first] = Array.isArray(answer['certificates']) ? answer['certificates'] : [];
    if (!isObject(first)) throw malformed('it contains no certificate');
    const certificate = stringMember(first, 'certificate');
    return { ...readSshCertificate(certificate), certificate, signer: stringMember(answer, 'certificateSigner') };
  }

  /**
   * `POST /sshcert/revoke`: revokes the certificate of a serial number, or every one of a key id that is in force; answers how many. The
   * owner may, and an operator. Throws `refused` with 403 for others, 404 when none is in force.
   */
  async revoke({ signal, serial, keyId, reason }: SshRevocationQuery): Promise<number> {
    const { body } = await this.#http.send({
      method: 'POST',
      path: ['sshcert', 'revoke'],
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ serial: serial?.toString(), keyId, reason }),
      signal,
    });
    const { revoked } = decodeObject(body);
    if (typeof revoked !== 'number') throw malformed('`revoked` must be a number');
    return revoked;
  }
}

/** How many fields the public key has, by the type of the certificate. */
const keyFields: ReadonlyMap<string, number> = new Map([
  ['ssh-ed25519-cert-v01@openssh.com', 1],
  ['ssh-rsa-cert-v01@openssh.com', 2],
  ...[256, 384, 521].map((size): [string, number] => [`ecdsa-sha2-nistp${size}-cert-v01@openssh.com`, 2]),
]);

/** Reads the line of a `-cert.pub` file (PROTOCOL.certkeys of OpenSSH). Throws `response-malformed`. */
export function readSshCertificate(line: string): SshCertificateFacts {
  try {
    return readBlob(Buffer.from(line.split(' ')[1] ?? '', 'base64'));
  } catch (cause) {
    throw cause instanceof SignetClientError ? cause : malformed('it holds no SSH certificate');
  }
}

function readBlob(blob: Buffer): SshCertificateFacts {
  let at = 0;
  const take = (size: number): Buffer => {
    if (at + size > blob.length) throw malformed('the SSH certificate is truncated');
    at += size;
    return blob.subarray(at - size, at);
  };
  const text = () => take(take(4).readUInt32BE());
  const fields = keyFields.get(text().toString('latin1'));
  if (fields === undefined) throw malformed('the SSH certificate is of an unknown type');
  for (let skipped = 0; skipped <= fields; skipped += 1) text();
  const serial = take(8).readBigUInt64BE();
  const kind = take(4).readUInt32BE() === 2 ? 'host' : 'user';
  const keyId = text().toString('utf8');
  const packed = text();
  const [notBefore, notAfter] = [take(8), take(8)].map((each) => Number(each.readBigUInt64BE()) * 1000);
  return { kind, serial, keyId, principals: unpack(packed), notBefore: notBefore ?? 0, notAfter: notAfter ?? 0 };
}

function unpack(packed: Buffer): readonly string[] {
  const found: string[] = [];
  for (let at = 0; at < packed.length; ) {
    const end = at + 4 + packed.readUInt32BE(at);
    found.push(packed.subarray(at + 4, end).toString('utf8'));
    at = end;
  }
  return found;
}
