import { JsonLimitError, JsonSyntaxError, parseStrictJson } from '@signet/policy-engine/json';
import { z } from 'zod';
import { InvalidRequestError, TooLargeError } from '../errors.ts';
import { parseBody } from '../instances/instance-request.ts';
import { type DocumentFolder, type FolderFile, parseFolder } from './documents/read-folder.ts';

/** Maximum of files in a request. */
const maxFiles = 2000;
const fileName = /^[^/\\\p{Cc}]*\.ya?ml$/u;

/** Body of a plan and of an apply: the files of a folder. */
export const filesSchema = z.strictObject({
  files: z
    .array(z.strictObject({ name: z.string().max(260).regex(fileName), text: z.string() }))
    .min(1)
    .max(maxFiles),
});

/** File of a request. */
interface RequestFile {
  readonly name: string;
  readonly text: string;
}

/** Reads the files of a body. Throws `InvalidRequestError`, `TooLargeError`. */
export function readFiles(body: string): readonly RequestFile[] {
  const { files } = parseBody(filesSchema, jsonOf(body));
  const names = new Set<string>();
  for (const [index, { name }] of files.entries()) {
    if (names.has(name)) throw new InvalidRequestError(`\`files[${index}].name\` stands twice`);
    names.add(name);
  }
  return files;
}

/** Parses files. Throws `InvalidDocumentError`, `InvalidRequestError`. */
export function filesFolder(files: readonly RequestFile[]): DocumentFolder {
  const sorted = files.map(({ name, text }): FolderFile => ({ file: name, text }));
  return parseFolder(sorted.sort((a, b) => (a.file < b.file ? -1 : 1)));
}

function jsonOf(body: string): unknown {
  // Replacement character of the decoder where the bytes are not UTF-8.
  if (body.includes('\uFFFD')) throw new InvalidRequestError('the body is not UTF-8');
  try {
    return parseStrictJson(body, { items: maxFiles, names: 100, values: 4 * maxFiles });
  } catch (error) {
    if (error instanceof JsonLimitError) throw new TooLargeError(`the body is too large: ${error.message}`);
    if (error instanceof JsonSyntaxError) throw new InvalidRequestError(`the body is not JSON: ${error.message}`);
    throw error;
  }
}
