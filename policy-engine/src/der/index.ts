export { checkDer, DerError, DerReader } from './der-reader.ts';
export * from './der-writer.ts';
export { type Extension, readExtensions } from './extensions.ts';
