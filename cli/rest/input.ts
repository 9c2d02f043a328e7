import { readFile, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

import { Refusal, misuse, reasonOf } from '../refusal.ts';

/** The largest body that the gateway accepts in one request. */
const inputBytesMax = 1_024 * 1_024;

/**
 * The text that an option gives. `@FILE` stands for the content of the file, `-` for stdin;
 * everything else is the text itself.
 *
 * @throws Refusal if a file cannot be read, or if the text has more than 1 MiB.
 */
export async function readTextOption(option: string): Promise<string> {
  if (option === '-') return readStdin();
  return option.startsWith('@') ? readTextFile(option.slice(1)) : option;
}

/** The content of a file of at most `limit` bytes, as text; `-` is stdin. */
export async function readTextFile(path: string, limit = inputBytesMax): Promise<string> {
  if (path === '-') return readStdin(limit);
  try {
    const { size } = await stat(path);
    if (size <= limit) return await readFile(path, 'utf8');
  } catch (error) {
    throw misuse(`${path} cannot be read (${reasonOf(error)}).`);
  }
  throw misuse(`${path} has more than ${limit} bytes.`);
}

/** All text from stdin. */
export async function readStdin(limit = inputBytesMax): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw misuse(`stdin has more than ${limit} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
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

/** Whether a person is at the terminal and can be asked. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Asks the person at the terminal a question, on stderr. */
export async function askPerson(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}

/**
 * Asks the person to confirm.
 *
 * @throws Refusal unless the person types "yes".
 */
export async function askYes(question: string, refusal = 'Nothing was done.'): Promise<void> {
  const answer = await askPerson(question);
  if (answer.trim().toLowerCase() !== 'yes') throw new Refusal(refusal);
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
    const ended = new Promise<never>((_resolve, reject) =>
      terminal.once('close', () => reject(new Refusal('Nothing was stored.'))),
    );
    const typed = await Promise.race([terminal.question(''), ended]);
    if (isOneLine) return typed;
    throw misuse('These are several lines: put them into a file, and the file on stdin (< FILE).');
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
