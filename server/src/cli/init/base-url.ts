import { hostOf } from '../../config/config.ts';
import { httpsAddress } from '../../config/options/about.ts';
import { isLoopback } from '../../config/store-place.ts';
import { type ProfileRules, profiles } from '../../profile.ts';
import { UsageError } from '../usage-error.ts';

interface Reached {
  readonly baseUrl?: string | undefined;
  /** Address on which the server listens; port 0 for a free one. */
  readonly host: string;
  readonly port: number;
  /** Default `signet`. */
  readonly profile?: ProfileRules['name'] | undefined;
  /** Further names and addresses of the server, the one that clients use first. */
  readonly hostNames: readonly string[];
}

/**
 * Base URL of a new server: as given, else by its first name, else on this machine. Undefined where it follows from the port that the server
 * will find. Throws `UsageError` for an address that is malformed, and for a server that listens to other machines and has only the names of
 * this machine.
 */
export function baseUrlOf({ baseUrl, host, port, hostNames, profile }: Reached): string | undefined {
  if (baseUrl !== undefined) return checked(baseUrl);
  const [name] = hostNames;
  if (!isLoopback(host) && (name === undefined || port === 0)) {
    const example = `--base-url ${addressOf('signet.example.com', port === 0 ? 4443 : port, profile)}`;
    const or = port === 0 ? '' : ', or --host-name with its name';
    throw new UsageError(
      `--host ${host} accepts connections from other machines: specify the address that they use, as with ${example}${or}`,
    );
  }
  return port === 0 ? undefined : checked(addressOf(name ?? 'localhost', port, profile));
}

/** `https://<name>:<port>/v1`, or with the base path of another profile. */
export function addressOf(name: string, port: number, profile: ProfileRules['name'] = 'signet'): string {
  const host = name.includes(':') ? `[${name}]` : name;
  return `https://${host}${port === 443 ? '' : `:${port}`}${profiles[profile].basePath}`;
}

function checked(text: string): string {
  const parsed = httpsAddress.safeParse(text);
  if (!parsed.success) throw new UsageError(`--base-url ${parsed.error.issues[0]?.message}`);
  if (hostOf(text).startsWith('*')) throw new UsageError('--base-url must have the name of one host');
  return text.replace(/\/+$/, '');
}
