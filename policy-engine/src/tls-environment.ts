const variable = 'NODE_TLS_REJECT_UNAUTHORIZED';

/**
 * Removes the environment variable by which Node verifies no certificate of a server, and says so. Each connection verifies in any case
 * (`secureClientOptions`); without the variable so do libraries, child processes and their children, and Node does not say that they do not.
 */
export function removeTlsOverride(environment: Record<string, string | undefined>, warn: (line: string) => void): void {
  if (environment[variable] === undefined) return;
  if (environment[variable] === '0')
    warn(`the environment variable ${variable} is ignored: certificates of servers are verified`);
  delete environment[variable];
}
