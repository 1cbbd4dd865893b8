import type { Command } from 'commander';
import { type ConnectionOptions, managementOptions, readClientSettings } from './connection.ts';

/**
 * True if a command asks a server rather than the configured store: a client identity or an address is given, or the configuration in force is
 * that of a client. The only rule for this, for every command that can do both.
 */
export function asksServer({ as, cert, url, configFile }: ConnectionOptions): boolean {
  if (as !== undefined || cert !== undefined || url !== undefined) return true;
  return readClientSettings(configFile) !== undefined;
}

/** Adds the options for server and identity to a described command that can do both, and says in its help which one it asks. */
export function sourceOptions(command: Command): Command {
  const summary = command.description();
  const rule =
    'asks a server with --as, --cert or --url, or with a client configuration (--config, SIGNET_CONFIG); otherwise reads the configured store';
  return managementOptions(command.summary(summary).description(`${summary}\n\n${rule}`));
}
