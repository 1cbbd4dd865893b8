/*
 * Characters that a terminal does not show as they are: controls, changes of writing direction (Bidi_Control), other format characters and
 * invisible ones. A name or a reason that holds them could look like another, or like more than one line.
 */
const deceiving = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const deceivingButLineEnds = /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]--[\n\t]]/gv;

/** A text on one line, with those characters in the notation of JSON. */
export function escapeControls(text: string): string {
  return text.replace(deceiving, escaped);
}

/** The same for a text that may have several lines. */
export function escapeControlsOfLines(text: string): string {
  return text.replace(deceivingButLineEnds, escaped);
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');
}
