export type { CryptoKey } from 'jose';
export { decodeJwkList, type KeySource, staticKeys } from './key-source.ts';
