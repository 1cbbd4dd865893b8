import { type DomainName, parseDomainName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../errors.ts';

/*
 * A login in a request is one of
 *   login           a name of the whole estate: every host that trusts the authority knows it; the configured login domain grants it
 *   domain:login    a name of one domain: hosts of the domain list it in sshd's AuthorizedPrincipalsFile; that domain grants it
 * The certificate carries it as it was asked for. A login has no colon, so the two never meet.
 *   login           a lower-case letter or `_`, then lower-case letters, digits, `_`, `-` and `.`; 32 characters, no `.` at the end
 * Capitals are refused: resources are folded, so that a grant of `bob` would give `Bob` too.
 */
const loginGrammar = /^[a-z_](?:[a-z0-9_.-]{0,30}[a-z0-9_-])?$/;

export interface SshLogin {
  /** The principal of the certificate. */
  readonly principal: string;
  readonly domain: DomainName;
  /** Resource on which the caller must hold `ssh_login`. */
  readonly resource: string;
}

/** The action that a user certificate needs, on `<domain>:ssh.<login>`. */
export const loginAction = 'ssh_login';

/** Reads a login. `loginDomain` is whose policy grants logins that name no domain. Throws `InvalidRequestError`, `InvalidNameError`. */
export function parseLogin(text: string, loginDomain: DomainName): SshLogin {
  const colon = text.indexOf(':');
  const login = text.slice(colon + 1);
  if (!loginGrammar.test(login)) throw new InvalidRequestError('principals must be logins, `login` or `domain:login`');
  const domain = colon < 0 ? loginDomain : parseDomainName(text.slice(0, colon), 'principals');
  const principal = colon < 0 ? login : `${domain}:${login}`;
  return { principal, domain, resource: `${domain}:ssh.${login}` };
}

/** RFC 1035 §2.3.4, without the dot at the end. */
const maxHostLength = 253;
const hostGrammar = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/** Reads a host name; answers it in lower case. No patterns: OpenSSH compares the principals of hosts as patterns in places. */
export function parseHostName(text: string): string {
  const folded = text.toLowerCase();
  if (folded.length > maxHostLength || !hostGrammar.test(folded))
    throw new InvalidRequestError('principals must be host names');
  return folded;
}
