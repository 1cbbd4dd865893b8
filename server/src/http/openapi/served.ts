import type { Addresses, ServerConfig } from '../../config/config.ts';

/** The server that a document describes. */
export interface Served {
  readonly config: Pick<ServerConfig, 'profile' | 'anonymousKeys'> & {
    readonly management: Pick<ServerConfig['management'], 'enabled' | 'alone'>;
  };
  readonly addresses: Addresses;
  /** True if it issues certificates. */
  readonly identity: boolean;
}
