export {
  type AtomicFileOptions,
  createFile,
  createFileSync,
  replaceFile,
  replaceFileSync,
  temporaryName,
} from './atomic-file.ts';
export { type FileCalls, promisedCalls, syncCalls, syncDirectory, syncDirectorySync } from './file-calls.ts';
