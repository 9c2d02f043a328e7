import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import type { Interface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Readable } from 'node:stream';

import { Refusal, misuse, reasonOf } from '../refusal.ts';

/** The largest body that the gateway accepts in one request. */
const inputBytesMax = 1_024 * 1_024;
/** Refuses other bytes, and keeps a byte order mark as the text that it is. */
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The text that an option gives. `@FILE` stands for the content of the file, `-` for stdin;
 * everything else is the text itself.
 *
 * @throws Refusal if a file cannot be read, has more than 1 MiB, or is not UTF-8.
 */
export async function readTextOption(option: string): Promise<string> {
  if (option === '-') return readStdin();
  return option.startsWith('@') ? readTextFile(option.slice(1)) : option;
}

/** The content of a file of at most `limit` bytes, as text; `-` is stdin. */
export async function readTextFile(path: string, limit = inputBytesMax): Promise<string> {
  return path === '-' ? readStdin(limit) : readText(createReadStream(path), path, limit);
}

/** All text from stdin. */
export async function readStdin(limit = inputBytesMax): Promise<string> {
  return readText(process.stdin, 'stdin', limit);
}

/** @throws Refusal if reading fails, if there are more than `limit` bytes, or if they are no text. */
async function readText(stream: Readable, name: string, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit) throw misuse(`${name} has more than ${limit} bytes.`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw misuse(`${name} cannot be read (${reasonOf(error)}).`);
  }
  try {
    return strictUtf8.decode(Buffer.concat(chunks));
  } catch {
    throw misuse(`${name} is not text in UTF-8: convert it first. Nothing was sent.`);
  }
}

/**
 * Parses JSON text. The error names the option, but not the text, because the text may be secret.
 */
export function parseJsonOption(text: string, option: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw misuse(`${option} is not JSON.`);
  }
}

/**
 * Reads an option that may be repeated and has the form `name=value`, such as `scheme=secret`.
 *
 * @throws Refusal if a value of the option has no name.
 */
export function readPairs(
  pairs: readonly string[],
  option: string,
  form: string,
): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const end = pair.indexOf('=');
      if (end < 1) throw misuse(`Write ${option} as ${form}.`);
      return [pair.slice(0, end), pair.slice(end + 1)];
    }),
  );
}

/** @throws Refusal if the value of `--version` is not a number. */
export function readVersionOption(version: string | undefined): number | undefined {
  if (version === undefined) return undefined;
  if (!/^\d{1,9}$/.test(version)) throw misuse('--version is a number.');
  return Number(version);
}

/** Whether a person is at the terminal and can be asked. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/**
 * Asks the person at the terminal to confirm, on stderr.
 *
 * @throws Refusal unless the person types "yes".
 */
export async function askYes(question: string, refusal = 'Nothing was done.'): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await readAnswer(terminal, question, refusal);
    if (answer.trim().toLowerCase() !== 'yes') throw new Refusal(refusal);
  } finally {
    terminal.close();
  }
}

/** @throws Refusal with the message `refusal` if the person presses Ctrl+C or Ctrl+D. */
async function readAnswer(terminal: Interface, question: string, refusal: string) {
  const ended = new Promise<never>((_resolve, reject) =>
    terminal.once('close', () => reject(new Refusal(refusal))),
  );
  try {
    return await Promise.race([terminal.question(question), ended]);
  } catch {
    process.stderr.write('\n');
    throw new Refusal(refusal); // Node's own error says only that a key was pressed
  }
}

/**
 * Asks the person at the terminal for a secret of one line. The terminal hides what is typed.
 *
 * @throws Refusal if several lines are pasted, or if the person presses Ctrl+C or Ctrl+D.
 */
export async function askSecret(question: string): Promise<string> {
  process.stderr.write(question);
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({
    input: process.stdin,
    output,
    terminal: true, // without echo, and with the keys that edit a line
    historySize: 0,
  });
  let isOneLine = true;
  terminal.on('line', () => (isOneLine = false)); // "question" takes the first line
  try {
    const typed = await readAnswer(terminal, '', 'Nothing was stored.');
    process.stderr.write('\n');
    if (isOneLine) return typed;
    throw misuse('These are several lines: put them into a file, and the file on stdin (< FILE).');
  } finally {
    terminal.close();
  }
}
