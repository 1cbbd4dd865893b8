import { readSshAuthority, type SshAuthority, SshAuthorityError } from './ssh-authority.ts';

interface SshAuthorities {
  readonly host?: SshAuthority | undefined;
  readonly user?: SshAuthority | undefined;
}

/**
 * Reads the authorities whose files are configured. They must be two keys: a host that trusts one for logins must not have to trust
 * what the other signs. Throws `SshAuthorityError`.
 */
export function openSshAuthorities(files: {
  readonly hostAuthority?: string | undefined;
  readonly userAuthority?: string | undefined;
}): SshAuthorities {
  const read = (file: string | undefined) => (file === undefined ? undefined : readSshAuthority(file));
  const [host, user] = [read(files.hostAuthority), read(files.userAuthority)];
  if (host !== undefined && host.publicKey.fingerprint === user?.publicKey.fingerprint) {
    throw new SshAuthorityError('the SSH authorities of hosts and of users must be different keys');
  }
  return { host, user };
}
