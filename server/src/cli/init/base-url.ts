import { hostOf } from '../../config/config.ts';
import { httpsAddress } from '../../config/options/about.ts';
import { isLoopback } from '../../config/store-place.ts';
import { UsageError } from '../usage-error.ts';

interface Reached {
  readonly baseUrl?: string | undefined;
  /** Address on which the server listens; port 0 for a free one. */
  readonly host: string;
  readonly port: number;
  /** Further names and addresses of the server, the one that clients use first. */
  readonly hostNames: readonly string[];
}

/**
 * Base URL of a new server: as given, else by its first name, else on this machine. Undefined where it follows from the port that the server
 * will find. Throws `UsageError` for an address that is malformed, and for a server that listens to other machines and has only the names of
 * this machine.
 */
export function baseUrlOf({ baseUrl, host, port, hostNames }: Reached): string | undefined {
  if (baseUrl !== undefined) return checked(baseUrl);
  const [name] = hostNames;
  if (!isLoopback(host) && (name === undefined || port === 0)) {
    const example = `--base-url https://signet.example.com:${port === 0 ? 4443 : port}/v1`;
    const or = port === 0 ? '' : ', or --host-name with its name';
    throw new UsageError(
      `--host ${host} listens for other machines: say by which address they call the server, as with ${example}${or}`,
    );
  }
  return port === 0 ? undefined : checked(addressOf(name ?? 'localhost', port));
}

/** `https://<name>:<port>/v1`, as the profile `signet` has it. */
export function addressOf(name: string, port: number): string {
  const host = name.includes(':') ? `[${name}]` : name;
  return `https://${host}${port === 443 ? '' : `:${port}`}/v1`;
}

function checked(text: string): string {
  const parsed = httpsAddress.safeParse(text);
  if (!parsed.success) throw new UsageError(`--base-url ${parsed.error.issues[0]?.message}`);
  if (hostOf(text).startsWith('*')) throw new UsageError('--base-url must hold the name of one host');
  return text.replace(/\/+$/, '');
}
