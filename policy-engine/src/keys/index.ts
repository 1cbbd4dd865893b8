export type { CryptoKey } from 'jose';
export { decodeJwkList, type KeyRules, type KeySource, sharesKey, staticKeys } from './key-source.ts';
export { keySource, type OpenedKeys, openWebKeys, type WebKeys } from './open-keys.ts';
export type { KeysFetch, KeysResponse, KeysStore, RemoteKeys } from './remote-keys.ts';
