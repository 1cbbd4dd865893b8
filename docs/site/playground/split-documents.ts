/** One of several documents in a text. */
interface DocumentPart {
  readonly text: string;
  /** Lines of the whole text that stand before it. */
  readonly linesBefore: number;
}

const separator = /^(---[ \t]*(?:#.*)?\r?)$/m;

/** The documents of a text, with the lines that separate them at the odd places of `pieces`. */
export function piecesOf(text: string): readonly string[] {
  return text.split(separator);
}

/** The documents of a text without those that hold nothing. */
export function splitDocuments(text: string): readonly DocumentPart[] {
  const parts: DocumentPart[] = [];
  let linesBefore = 0;
  for (const [index, piece] of piecesOf(text).entries()) {
    if (index % 2 === 0 && /^[ \t]*[^\s#]/m.test(piece)) parts.push({ text: piece, linesBefore });
    linesBefore += piece.split('\n').length - 1;
  }
  return parts;
}
