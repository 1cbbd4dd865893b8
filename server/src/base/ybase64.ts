const letters: Readonly<Record<string, string>> = { '+': '.', '/': '_', '=': '-' };

/** Base64 in the alphabet of principal tokens, padding kept: `.` for `+`, `_` for `/`, `-` for `=`. */
export function ybase64(content: string | Uint8Array): string {
  const base64 = (typeof content === 'string' ? Buffer.from(content) : Buffer.from(content)).toString('base64');
  return base64.replaceAll(/[+/=]/g, (letter) => letters[letter] ?? letter);
}

/** The bytes of such a text; undefined when it is not in that form exactly. */
export function fromYBase64(text: string): Buffer | undefined {
  if (!/^[a-zA-Z0-9._]+-{0,2}$/.test(text)) return undefined;
  const standard = text.replaceAll('.', '+').replaceAll('_', '/').replaceAll('-', '=');
  const bytes = Buffer.from(standard, 'base64');
  return bytes.toString('base64') === standard ? bytes : undefined;
}
