/** A block of a page that a reader would type. */
interface CommandBlock {
  /** Number of its first line, from 1. */
  readonly line: number;
  /** Why no test runs it; undefined: it is to be run. */
  readonly notRun?: string;
}

const shells = /^(?:sh|bash|shell|console)\b/;
/** First words of a line that is typed into a shell. */
const programs =
  /^(?:\$ |sudo |[A-Z_]+=(?:"[^"]*"|\S+) )?(?:signet|signet-[a-z-]+|np[mx]|node|curl|docker|kubectl|openssl|ssh(?:-keygen)?|psql|pg_[a-z]+|systemctl|git|age(?:-keygen)?|sha256sum|cp|mv|rm|mkdir|cat|helm|cosign|\/opt\/signet\/\S+)(?: |$)/;

/** The blocks of a page that are commands: by their language, or by what the first line begins with. */
export function commandBlocksOf(markdown: string): CommandBlock[] {
  return [...markdown.matchAll(/^(?:<!-- not run: ([^\n]+) -->\n+)?```([^\n]*)\n(.*?)^```$/gms)].flatMap((found) => {
    const [, notRun, info = '', text = ''] = found;
    const isPlain = info === '' || info === 'text';
    if (!shells.test(info) && !(isPlain && programs.test(text))) return [];
    const line = markdown.slice(0, found.index).split('\n').length;
    return [notRun === undefined ? { line } : { line, notRun }];
  });
}
