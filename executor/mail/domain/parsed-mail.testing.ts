import { spawnSync } from 'node:child_process';

/** A message as Python's e-mail package parses it. */
export interface ParsedMail {
  readonly headers: readonly string[];
  /** The addresses in each header that has any. */
  readonly addresses: Readonly<Record<string, readonly string[]>>;
  /**
   * The names and addresses that Python's older parser finds in To, Cc and Bcc. The newer parser
   * keeps the blanks between the encoded words of a name.
   */
  readonly recipients: readonly (readonly [name: string, address: string])[];
  readonly subject: string | null;
  readonly references: string | null;
  readonly defects: number;
  readonly parts: readonly {
    readonly type: string;
    readonly filename: string | null;
    readonly base64: string;
  }[];
}

const script = `
import base64, json, sys
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.parser import BytesParser
from email.utils import getaddresses

def read(text):
    message = message_from_bytes(text, policy=policy.default)
    old = BytesParser(policy=policy.compat32).parsebytes(text)
    named = ['from', 'to', 'cc', 'bcc', 'reply-to']
    parts = [part for part in message.walk() if not part.is_multipart()]
    return {
        'headers': [name for name in message.keys()],
        'addresses': {name: [address.addr_spec for address in message[name].addresses]
                      for name in named if message[name] is not None},
        'recipients': [[str(make_header(decode_header(shown))), address]
                       for shown, address in getaddresses(
            [str(value) for name in ['to', 'cc', 'bcc'] for value in old.get_all(name, [])])],
        'subject': None if message['subject'] is None else str(message['subject']),
        'references': None if message['references'] is None else str(message['references']),
        'defects': sum(len(part.defects) for part in message.walk()),
        'parts': [{'type': part.get_content_type(), 'filename': part.get_filename(),
                   'base64': base64.b64encode(part.get_payload(decode=True)).decode()}
                  for part in parts],
    }

print(json.dumps([read(base64.b64decode(each)) for each in json.load(sys.stdin)]))
`;

export const hasPython = spawnSync('python3', ['-c', 'import email.policy']).status === 0;

/** Parses messages with Python's e-mail package, which shares no code with the composer. */
export function parseByPython(messages: readonly string[]): ParsedMail[] {
  const input = JSON.stringify(messages.map((each) => Buffer.from(each).toString('base64')));
  const { stdout, stderr, status } = spawnSync('python3', ['-c', script], {
    input,
    maxBuffer: 100_000_000,
  });
  if (status !== 0) throw new Error(`python3 failed: ${stderr.toString()}`);
  return JSON.parse(stdout.toString()) as ParsedMail[];
}
