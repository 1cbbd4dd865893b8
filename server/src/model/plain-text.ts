/*
 * Text that people write and others read: no character may show another order of letters (Bidi_Control), hide, or move the cursor. Of the format
 * characters only the two that join letters count as text, as several scripts need them (U+200C, U+200D).
 */

/** A text on one line. */
export const plainLine = /^(?:[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|\u200c|\u200d)*$/u;

/** A text that may have several lines. */
export const plainLines = /^(?:[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|\u200c|\u200d|[\n\t])*$/u;

/** Error text for any other. */
export const notPlain = 'must not hold control or format characters';
