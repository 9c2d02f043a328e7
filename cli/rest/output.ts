import { styleText } from 'node:util';

import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { makePrintable, makePrintableText } from '../words.ts';

/** A cell of a table. It is empty without a value. */
export type Cell = string | number | boolean | null | undefined;

/** What a command prints. Without `show`, the data is printed as JSON even without `--json`. */
export interface Answer {
  /** The data that `--json` prints. */
  readonly data: unknown;
  /** The data for a person. */
  readonly show?: Shown;
  /** A sentence for a person, on stderr. Not printed with `--json`. */
  readonly note?: string | undefined;
  readonly exitCode?: ExitCode;
}

export type Shown =
  | { readonly table: readonly (readonly Cell[])[]; readonly header: readonly string[] }
  | {
      readonly facts: readonly (readonly [name: string, value: Cell])[];
      /** What follows the facts after an empty line. */
      readonly body?: Shown | undefined;
    }
  | ShownText;

export interface ShownText {
  readonly text: string;
  /** In a pipe the text is printed as it is, because it is the answer of a service. */
  readonly isRaw?: true;
}

/** The properties of stdout that matter here. Both are undefined when stdout is not a terminal. */
interface Stream {
  readonly isTTY?: boolean;
  readonly hasColors?: () => boolean;
}

const cellCharactersMax = 60;

/** Prints the answer of a command, and sets the exit code of the process. */
export function printAnswer(
  { data, show, note, exitCode = exitCodes.done }: Answer,
  { isJson }: { isJson: boolean },
): void {
  process.exitCode = exitCode;
  if (isJson || show === undefined) {
    if (data !== undefined) writeLine(formatJson(data));
  } else {
    const text = formatShown(show, process.stdout);
    if (text !== '') writeLine(text);
  }
  if (!isJson && note !== undefined) printNote(note);
}

/** Prints one line about the progress to stderr, because stdout must contain only the answer. */
export function printNote(note: string): void {
  process.stderr.write(`${makePrintableText(note)}\n`);
}

/**
 * Shows the progress of something long, on a line of the terminal that the next progress text
 * overwrites.
 */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${makePrintable(text)}`);
}

/** Writes one line of text. The caller must have made the text printable. */
export function writeLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes JSON in which invisible characters are escaped, so that it parses to the same data. */
export function formatJson(data: unknown, { indent = 2 }: { indent?: number } = {}): string {
  return makePrintableText(JSON.stringify(data, null, indent));
}

/**
 * Formats data for a person. On a terminal a table has a header and aligned columns. Elsewhere it
 * has no header, and tabs separate its cells, so that other programs can read it.
 */
export function formatShown(show: Shown, stream: Stream): string {
  if ('text' in show) {
    if (show.isRaw === true && stream.isTTY !== true) return show.text;
    return makePrintableText(show.text.replaceAll('\r\n', '\n'));
  }
  if ('facts' in show) {
    const facts = show.facts
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => [makePrintable(name), value] as const);
    const width = Math.max(0, ...facts.map(([name]) => name.length));
    const lines = facts.map(([name, value]) => {
      const label = `${name}:`.padEnd(width + 1);
      return `${dim(label, stream)} ${makePrintable(String(value))}`;
    });
    const body = show.body === undefined ? '' : formatShown(show.body, stream);
    return [...lines, ...(body === '' ? [] : ['', body])].join('\n');
  }
  const rows = show.table.map((row) => row.map(formatCell));
  if (stream.isTTY !== true) return rows.map((row) => row.join('\t')).join('\n');
  if (rows.length === 0) return dim('none', stream);
  const shortRows = rows.map((row) => row.map(shorten));
  const widths = show.header.map((title, column) =>
    Math.max(title.length, ...shortRows.map((row) => row[column]?.length ?? 0)),
  );
  const align = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [dim(align(show.header), stream), ...shortRows.map(align)].join('\n');
}

function formatCell(cell: Cell): string {
  return cell === undefined || cell === null ? '' : makePrintable(String(cell));
}

function shorten(cell: string): string {
  return cell.length > cellCharactersMax ? `${cell.slice(0, cellCharactersMax - 1)}…` : cell;
}

/** Makes text dim on a terminal with colours. NO_COLOR in the environment prevents that. */
function dim(text: string, stream: Stream): string {
  return stream.isTTY === true && stream.hasColors?.() === true
    ? styleText('dim', text, { validateStream: false })
    : text;
}
