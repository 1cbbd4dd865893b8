import { constants, type X509Certificate } from 'node:crypto';
import { issuedUntil, isWithinDates } from '../certificates/certificate-chain.ts';
import { type AuthoritiesInput, parseAuthorities, parseChain } from '../certificates/read-certificates.ts';
import { type Clock, systemClock } from '../clock.ts';
import { Handshakes } from './handshakes.ts';

/** The part of a TLS socket of Node that is read; a plain socket has only the address. */
export interface NodeSocket {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
  readonly authorized?: boolean;
  /** The result of OpenSSL; Node declares an error and answers its code. */
  readonly authorizationError?: unknown;
  getProtocol?(): string | null;
  getPeerX509Certificate?(): X509Certificate | undefined;
}

/** Rules for accepting certificates of connections. */
export interface ConnectionOptions {
  /**
   * The authorities that may issue client certificates. With them a certificate that TLS could not verify, as it does not know them or there was
   * a renegotiation, is verified here; one that TLS refused is not used. Revocation lists are known to TLS only. Without authorities the TLS
   * layer has verified it, which proves nothing after a renegotiation: it is then valid only over TLS 1.3 and on servers that refuse
   * renegotiation (`secureServerOptions`). A function is asked at each connection and request, for authorities that change. It answers what the
   * TLS layer verifies handshakes against, whose word counts (as without authorities) until one of them is removed: certificates of connections
   * that began before are then verified here, where Node has forgotten the intermediates that their clients sent. End such connections, or list
   * the intermediates that are in use as well. An answer that holds none, or a call that throws, counts as no authority.
   */
  authorities?: AuthoritiesInput | (() => AuthoritiesInput);
  /** The time that the dates of certificates are compared with. Default: the machine's. */
  clock?: Clock;
}

/** State kept for a connection. */
interface Known {
  /** Fixed: no other certificate can take the place of the one that it has. */
  readonly isFixed: boolean;
  readonly certificate: X509Certificate | undefined;
  /** Time until which its issuers vouch for it, in milliseconds since the epoch. */
  readonly until: number;
  /** The authorities that it was verified against. */
  readonly authorities: readonly X509Certificate[] | undefined;
}

/**
 * Finds the certificate of the connection of a request: verified, and within its dates at each request, as a connection may outlive
 * its certificate. Reading one costs more than a decision, so it is done once a connection where it cannot change.
 */
export class ConnectionCertificates {
  readonly #clock: Clock;
  readonly #source: ConnectionOptions['authorities'];
  /** The answer of `#source` that `#authorities` was made of. */
  #input: AuthoritiesInput | undefined;
  #authorities: readonly X509Certificate[] | undefined;
  /** Number of times that an authority was removed. */
  #generation = 0;
  readonly #handshakes = new Handshakes(() => {
    this.#refresh();
    return this.#generation;
  });
  readonly #known = new WeakMap<object, Known>();
  #hasWarned = false;

  /** Throws `PolicyEngineError('invalid-options')` for authorities that are none. */
  constructor({ authorities, clock }: ConnectionOptions) {
    this.#clock = clock ?? systemClock;
    this.#source = authorities;
    this.#input = typeof authorities === 'function' ? authorities() : authorities;
    this.#authorities = this.#input === undefined ? undefined : parseAuthorities(this.#input);
  }

  /** `connection` stands for the connection where `socket` does not, as of HTTP/2. */
  of(socket: NodeSocket, connection: object = socket): X509Certificate | undefined {
    const now = this.#clock.now();
    const { certificate, until } = this.#knownOf(socket, connection, now);
    return certificate !== undefined && now <= until && isWithinDates(certificate, now) ? certificate : undefined;
  }

  /** True if `of` has found a certificate on the connection, valid or not. */
  isPresented(socket: NodeSocket, connection: object = socket): boolean {
    return this.#known.get(connection)?.certificate !== undefined;
  }

  #knownOf(socket: NodeSocket, connection: object, now: number): Known {
    this.#refresh();
    const kept = this.#known.get(connection);
    const last = kept?.authorities === this.#authorities ? kept : undefined;
    if (last?.isFixed) return last;
    const isFixed = hasOneHandshake(socket);
    const certificate = socket.getPeerX509Certificate?.();
    if (certificate !== undefined && last?.certificate?.raw.equals(certificate.raw)) return last;
    const until = this.#verifiedUntil(socket, isFixed, certificate, now);
    const known = { isFixed, certificate, until, authorities: this.#authorities };
    this.#known.set(connection, known);
    return known;
  }

  /** Loads other authorities, where a function gives them. */
  #refresh(): void {
    if (typeof this.#source !== 'function') return;
    try {
      const input = this.#source();
      if (input === this.#input) return;
      this.#accept(parseAuthorities(input));
      this.#input = input;
    } catch {
      this.#accept([]);
      this.#input = undefined;
    }
  }

  /** Accepts new authorities. Earlier connections stay valid while none of their authorities was removed. */
  #accept(authorities: readonly X509Certificate[]): void {
    const kept = new Set(authorities.map(({ fingerprint256 }) => fingerprint256));
    if (this.#authorities?.some(({ fingerprint256 }) => !kept.has(fingerprint256))) this.#generation += 1;
    this.#authorities = authorities;
  }

  #verifiedUntil(socket: NodeSocket, isFixed: boolean, certificate: X509Certificate | undefined, now: number): number {
    if (certificate === undefined || wasRefused(socket, isFixed)) return never;
    if (this.#authorities !== undefined) {
      // Node does not tell a server which intermediates a client has sent: TLS has seen them.
      if (this.#isOfNow(socket) && socket.authorized === true && isFixed) return Number.POSITIVE_INFINITY;
      const chain = parseChain(certificate);
      return (chain && issuedUntil(chain, this.#authorities, now)) ?? never;
    }
    if (socket.authorized !== true) return never;
    if (!isFixed) this.#warn();
    return isFixed ? Number.POSITIVE_INFINITY : never;
  }

  /** True if TLS has verified the handshake of a connection against the present authorities. */
  #isOfNow(socket: NodeSocket): boolean {
    if (typeof this.#source !== 'function' || this.#authorities?.length === 0) return false;
    return this.#handshakes.generationOf(socket) === this.#generation;
  }

  #warn(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    process.emitWarning(
      'client certificates over TLS 1.2 are not used, as this server allows renegotiation: add `secureServerOptions` to its TLS options',
      { code: 'SIGNET_RENEGOTIATION' },
    );
  }
}

const never = Number.NEGATIVE_INFINITY;

/** Results of OpenSSL for a chain of which it knows no authority: it says nothing about a path to other ones. */
const unknownIssuer: ReadonlySet<unknown> = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
]);

/**
 * True if TLS has refused the certificate, which no check of its signatures here outweighs. Only a server with revocation lists can tell which
 * certificates are on them: there a certificate is valid only if TLS accepted it, and one of a later handshake, whose result Node does not keep,
 * is not.
 */
function wasRefused(socket: NodeSocket, isFixed: boolean): boolean {
  if (mayHaveLists(socket)) return !isFixed || socket.authorized !== true;
  return socket.authorized === false && !unknownIssuer.has(socket.authorizationError);
}

/** Contexts that a server chooses by the host name cannot be read: they may have lists. */
function mayHaveLists(socket: NodeSocket): boolean {
  const lists = serverOption(socket, 'crl');
  return (lists !== undefined && lists !== null) || typeof Reflect.get(socket, '_SNICallback') === 'function';
}

/**
 * True if the handshake of a connection is its only one: TLS 1.3 has no other, and for TLS 1.2 the server keeps its initial options. An
 * unreadable option is treated as a server that renegotiates.
 */
function hasOneHandshake(socket: NodeSocket): boolean {
  if (socket.getProtocol?.() === 'TLSv1.3') return true;
  const options = serverOption(socket, 'secureOptions');
  return typeof options === 'number' && (options & constants.SSL_OP_NO_RENEGOTIATION) !== 0;
}

function serverOption(socket: NodeSocket, name: 'crl' | 'secureOptions'): unknown {
  const server: unknown = Reflect.get(socket, 'server');
  return typeof server === 'object' && server !== null ? Reflect.get(server, name) : undefined;
}
