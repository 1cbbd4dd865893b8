export {
  type AtomicFileOptions,
  createFile,
  createFileSync,
  replaceFile,
  replaceFileSync,
  temporaryName,
} from './atomic-file.ts';
export { bundleSuffix, domainFileName } from './domain-file.ts';
export {
  type FileCalls,
  promisedCalls,
  syncCalls,
  syncDirectory,
  syncDirectorySync,
  syncFileSync,
} from './file-calls.ts';
export { type HeldFile, holdFile, type LockWait, lockFile } from './file-lock.ts';
export { pemFault } from './pem-fault.ts';
