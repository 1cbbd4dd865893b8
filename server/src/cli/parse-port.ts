import { InvalidArgumentError } from 'commander';

/** A port from 0 to 65535. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new InvalidArgumentError('must be a port from 0 to 65535');
  return port;
}
