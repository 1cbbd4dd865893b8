import { dirname, join } from 'node:path';
import { PolicyEngineError } from '../errors.ts';
import { parseStrictJson } from '../json/strict-json.ts';
import { noUsableKey } from '../keys/decode-jwk.ts';
import { type CryptoKey, decodeJwkList, type KeyRules, type KeySource, staticKeys } from '../keys/index.ts';
import type { KeyPurpose } from '../wire/index.ts';
import { readProtectedFile } from './read-file.ts';

const maxKeysBytes = 1_048_576;

/** The keys and the issuer of `keys.json` in a policy directory; a bad file keeps the keys that were there. */
export class DirectoryKeys implements KeySource {
  readonly #path: string;
  readonly #rules: KeyRules;
  #source: KeySource | undefined;
  #issuer: string | undefined;
  #requiredIssuer: string | undefined;
  #identity: string | undefined;
  #revision = 0;
  #error: PolicyEngineError | undefined;

  constructor(policyDir: string, rules: KeyRules = {}) {
    this.#rules = rules;
    this.#path = join(policyDir, 'keys.json');
  }

  get revision(): number {
    return this.#revision;
  }

  get issuer(): string | undefined {
    return this.#issuer;
  }

  /** Error of the latest file, if it could not be used. */
  get error(): PolicyEngineError | undefined {
    return this.#error;
  }

  get leftOut(): readonly string[] {
    return this.#source?.leftOut ?? [];
  }

  async find(kid: string, purpose: KeyPurpose): Promise<CryptoKey | undefined> {
    return this.#source?.find(kid, purpose);
  }

  /** Requires the issuer from now on: a file that names another one is rejected. */
  requireIssuer(issuer: string): void {
    this.#requiredIssuer = issuer;
  }

  /** Reads the file when it has changed. Never throws. */
  async refresh(): Promise<void> {
    const file = await readProtectedFile(this.#path, maxKeysBytes, this.#identity);
    if (file.kind === 'unchanged') return;
    if (file.kind !== 'read') {
      this.#error = unavailable(file.kind === 'absent' ? missingFrom(this.#path) : file.problem);
      this.#identity = undefined;
      return;
    }
    this.#identity = file.identity;
    try {
      const { source, issuer } = decodeKeysFile(file.bytes, this.#rules);
      if (issuer !== undefined && issuer !== (this.#requiredIssuer ?? issuer)) throw otherIssuer();
      this.#source = source;
      this.#issuer = issuer;
      this.#revision += 1;
      this.#error = undefined;
    } catch (cause) {
      this.#error = unavailable(cause instanceof PolicyEngineError ? cause.message : 'it is not UTF-8', cause);
    }
  }
}

function decodeKeysFile(bytes: Uint8Array, rules: KeyRules): { source: KeySource; issuer: string | undefined } {
  const value = parseStrictJson(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  const list = decodeJwkList(value, rules);
  if (list.keys.length === 0 && list.leftOut.length > 0) throw noUsableKey(list);
  const issuer: unknown = typeof value === 'object' && value !== null && 'issuer' in value ? value.issuer : undefined;
  if (issuer !== undefined && (typeof issuer !== 'string' || issuer === '')) {
    throw new PolicyEngineError('keys-malformed', '`issuer` must be a string');
  }
  return { source: { ...staticKeys(list), leftOut: list.leftOut }, issuer };
}

function missingFrom(path: string): string {
  return `it does not exist in \`${dirname(path)}\`: run \`signet-updater once\`, which writes it, or give \`keys\``;
}

function otherIssuer(): PolicyEngineError {
  return new PolicyEngineError(
    'keys-malformed',
    'it names another issuer than the other policy directories; if all of them have changed, open the engine again',
  );
}

function unavailable(problem: string, cause?: unknown): PolicyEngineError {
  return new PolicyEngineError('keys-unavailable', `keys.json cannot be used: ${problem}`, { cause });
}
