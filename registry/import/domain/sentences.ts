import type { JsonObject } from '../../document/domain/context.ts';
import { shortenText, textAt } from './source.ts';

const textCharactersMax = 2000;
const sentenceCharactersMax = 200;
const sentencesMax = 12;

/** What a person reads of an operation before approving it. */
export interface OperationWords {
  /** A sentence that is about this operation alone; undefined when the document has none. */
  readonly sentence: string | undefined;
  /** Whether it is the first sentence of the `summary`. */
  readonly isSummary: boolean;
  /** Whether the document says that the operation is deprecated, as a mark or in words. */
  readonly isDeprecated: boolean;
}

/** Words that say that an operation is deprecated. They are also reported separately. */
const endingWords =
  'deprecated|deprecation|obsolete|retired|discontinued|sunset|end of life|do not use|don.t use';
const noticeWords = `${endingWords}|beta|alpha|preview|experimental|early access|legacy|internal|unstable|note|notes|nb|notice|please note|warning|caution|important|important note|attention|danger|disclaimer|reminder|tip|hint|info|information|todo|heads up|coming soon`;
const kinds = 'feature|endpoint|api|version|release|operation|method|resource|use|only';
const states = `${endingWords}|experimental|legacy|unstable|removed|subject to change|in (?:public |private |open |closed )?(?:beta|alpha|preview|early access)|a (?:beta|preview)|for internal use`;

/** Sentences that say something about the operation other than what it does. */
const noticePatterns = [
  new RegExp(`^\\W{0,10}(?:${noticeWords})\\W{0,10}$`, 'i'),
  new RegExp(`^\\W{0,10}(?:${noticeWords})\\s{0,3}(?:[:!.,;)\\]]|[-–—](?=\\s))`, 'i'),
  new RegExp(
    `^\\W{0,10}(?:${endingWords}|please note|note that|notice that|important note)\\b`,
    'i',
  ),
  new RegExp(`^\\W{0,10}(?:beta|alpha|preview|experimental|legacy|internal) (?:${kinds})\\b`, 'i'),
  new RegExp(
    `^(?:this|the|these) [\\w ]{0,40}(?:is|was|are|has been|have been|will be) (?:now |currently |being )?(?:${states})\\b`,
    'i',
  ),
  /^(?:please )?(?:use|see|switch to|migrate to|consider)\b.{0,200}\binstead\b/i,
  /^(?:please )?(?:see|refer to)\b/i,
];
const endingPatterns = [
  new RegExp(`^\\W{0,10}(?:${endingWords})\\b`, 'i'),
  new RegExp(
    `^(?:this|the) [\\w ]{0,40}(?:is|has been|will be) (?:now |being )?(?:${endingWords})\\b`,
    'i',
  ),
];
/** A word in brackets or in bold type before a sentence, as in `[Beta] Create a pet`. */
const leadingMark = new RegExp(
  `^\\W{0,10}?(?:\\[\\s?(?:${noticeWords})\\b[^[\\]()]{0,60}\\]|\\(\\s?(?:${noticeWords})\\b[^[\\]()]{0,60}\\)|(?:\\*\\*|__)\\s?(?:${noticeWords})\\s?(?:\\*\\*|__))(?!\\s?[:–—-])\\s?`,
  'i',
);

/**
 * Chooses for each operation the first sentence of its summary and description that no other
 * operation has. Skips notices, such as the sentence with which all deprecated operations begin.
 */
export function chooseSentences(operations: readonly JsonObject[]): OperationWords[] {
  const sentencesByOperation = operations.map((operation) => {
    const [summary = [], description = []] = ['summary', 'description'].map((key) =>
      sentencesOf(textAt(operation, key) ?? ''),
    );
    return { operation, summary, description };
  });
  const countsBySentence = new Map<string, number>();
  for (const { summary, description } of sentencesByOperation) {
    const keys = new Set([...summary, ...description].map(({ text }) => text.toLowerCase()));
    for (const key of keys) countsBySentence.set(key, (countsBySentence.get(key) ?? 0) + 1);
  }
  return sentencesByOperation.map(({ operation, summary, description }) => {
    const fitting = [...summary, ...description].find(
      ({ text, isNotice }) => !isNotice && countsBySentence.get(text.toLowerCase()) === 1,
    );
    return {
      sentence: fitting && shortenText(fitting.text, sentenceCharactersMax),
      isSummary: fitting !== undefined && fitting === summary[0],
      isDeprecated:
        operation['deprecated'] === true ||
        [summary[0], description[0]].some((first) => first?.isEnding === true),
    };
  });
}

interface Sentence {
  readonly text: string;
  readonly isNotice: boolean;
  readonly isEnding: boolean;
}

/** The sentences of a text in Markdown or HTML, as plain text. Headings come last. */
function sentencesOf(text: string): Sentence[] {
  const blocks = blocksOf(text.slice(0, textCharactersMax));
  const ordered = [
    ...blocks.filter(({ isHeading }) => !isHeading),
    ...blocks.filter(({ isHeading }) => isHeading),
  ];
  return ordered.flatMap(({ text: block }) => readBlock(block)).slice(0, sentencesMax);
}

function readBlock(block: string): Sentence[] {
  const [mark = ''] = leadingMark.exec(block) ?? [];
  const marked = endingPatterns.some((pattern) => pattern.test(mark));
  return splitSentences(toPlainText(block.slice(mark.length))).map((text, index) => ({
    text,
    isNotice: noticePatterns.some((pattern) => pattern.test(text)),
    isEnding: (marked && index === 0) || endingPatterns.some((pattern) => pattern.test(text)),
  }));
}

const blockTag = /<\/?(?:p|br|hr|li|ul|ol|h[1-6]|div|table|tr|blockquote|aside)\b[^<>]*>/gi;
const heading = /^\s{0,3}#{1,6}\s/;
/** The beginnings of lines that are not part of the paragraph before them. */
const ownLine = /^\s{0,8}(?:[-*+]\s|\d{1,3}[.)]\s|>|\||:::|!!!|={3}|-{3}|\*{3})/;

/** The paragraphs, headings and list items of a text in Markdown or HTML. */
function blocksOf(text: string): { text: string; isHeading: boolean }[] {
  const lines = text
    .replaceAll(/```[^`]*```/g, '\n\n')
    .replaceAll(/<h[1-6]\b[^<>]*>/gi, '\n\n# ')
    .replaceAll(blockTag, '\n\n')
    .replaceAll(/<[^<>]*>/g, ' ')
    .split(/\r?\n/);
  const blocks: { text: string; isHeading: boolean }[] = [];
  let isOpen = false;
  for (const line of lines) {
    const isHeading = heading.test(line);
    const beginsBlock = isHeading || ownLine.test(line);
    const words = (/^\s{0,8}\|/.test(line) ? '' : line)
      .replace(/^\s{0,8}(?:#{1,6}\s|>|[-*+]\s|\d{1,3}[.)]\s|:::|!!!)?\s*(?:\[![A-Z]+\])?/, '')
      .trim();
    const last = blocks.at(-1);
    if (isOpen && !beginsBlock && last !== undefined && words !== '') last.text += ` ${words}`;
    else if (/[\p{L}\p{N}]/u.test(words)) blocks.push({ text: words, isHeading });
    isOpen = words !== '' && !isHeading;
  }
  return blocks;
}

/** Removes the marks of Markdown within a paragraph: links, emphasis, code, escapes. */
function toPlainText(text: string): string {
  return text
    .replaceAll(/!\[[^[\]]*\]\([^()]*\)/g, ' ')
    .replaceAll(/\[([^[\]]*)\](?:\([^()]*\)|\[[^[\]]*\])/g, '$1')
    .replaceAll(/\*\*|~~|`/g, '')
    .replaceAll(/\*(?=\S)|(?<=\S)\*/g, '')
    .replaceAll(/(^|[\s(])_{1,2}([^_]+)_{1,2}(?=$|[\s).,:;!?])/g, '$1$2')
    .replaceAll(/\\([\\`*_{}[\]()#+.!|>~-])/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function splitSentences(text: string): string[] {
  const sentences: string[] = [];
  let rest = text;
  while (rest !== '' && sentences.length < sentencesMax) {
    const sentence = /^.{10,}?(?<!\b(?:e\.g|i\.e|vs|incl))[.!?](?=\s)/.exec(rest)?.[0] ?? rest;
    rest = rest.slice(sentence.length).trimStart();
    const words = withoutFullStops(sentence);
    if (/[\p{L}\p{N}]/u.test(words)) sentences.push(words);
  }
  return sentences;
}

/**
 * A regular expression for this would take time that grows with the square of a run of full stops.
 */
function withoutFullStops(sentence: string): string {
  let { length } = sentence;
  while (length > 0 && /[.\s]/.test(sentence.charAt(length - 1))) length -= 1;
  return sentence.slice(0, length);
}
