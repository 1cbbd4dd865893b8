import { readOwnFile } from '../keys/own-file.ts';
import { decryptPrivateKey, isEncryptedKey } from '../x509/encrypted-key.ts';
import { askHidden } from './ask.ts';
import { UsageError } from './usage-error.ts';

/* Single line, which a terminal accepts as well. */
const grammar = /^\P{Cc}{12,1024}$/u;
const fileBytes = 4100;

/** A passphrase that is to protect a key. Throws `UsageError`. */
export function checkPassphrase(text: string): string {
  if (grammar.test(text)) return text;
  throw new UsageError('a passphrase must be one line of 12 to 1024 characters');
}

/** Passphrase in a file that is readable only by its owner, without the line end. Throws `UsageError`. */
export function readPassphrase(file: string): string {
  let text: string;
  try {
    text = readOwnFile(file, fileBytes).toString('utf8');
  } catch (error) {
    throw new UsageError(`the file of the passphrase: ${error instanceof Error ? error.message : String(error)}`);
  }
  return checkPassphrase(text.replace(/\r?\n$/, ''));
}

/** A private key as unencrypted PEM: its passphrase is in the file, or is asked for on a terminal. Throws `UsageError`. */
export async function openPrivateKey(file: string, pem: string, passphraseFile: string | undefined): Promise<string> {
  if (!isEncryptedKey(pem)) return pem;
  const passphrase =
    passphraseFile === undefined ? await askHidden(`Passphrase of \`${file}\`: `) : readPassphrase(passphraseFile);
  if (passphrase === undefined) {
    throw new UsageError(`\`${file}\` is encrypted: use --passphrase-file, or run the command on a terminal`);
  }
  try {
    return decryptPrivateKey(pem, passphrase);
  } catch {
    throw new UsageError(`\`${file}\` cannot be opened with this passphrase`);
  }
}
