import type { CompiledCompose } from '#contracts/composed-mail';
import { isMailField } from '#contracts/composed-mail';
import type { JsonValue } from '#contracts/vocabulary';
import { readMail } from './mail-fields.ts';
import type { Mail, MailValues } from './mail-fields.ts';
import { addressHeaders, attachmentHeader, messageIdHeaders, textHeader } from './mail-headers.ts';

/** A message, or a part of one: the headers that describe the content, and the content in ASCII. */
interface Entity {
  readonly headers: readonly string[];
  readonly content: string;
}

const newLine = '\r\n';
const base64LineCharacters = 76;

/**
 * Replaces the mail fields of a body by the composed message. The result depends only on the fields
 * and the boundary. It has no Date and no Message-ID, which the provider adds, so a replay composes
 * exactly the approved bytes.
 */
export function composeBody(
  body: Readonly<Record<string, JsonValue>>,
  { into, encoding }: CompiledCompose,
  boundary: string,
): JsonValue {
  const entries = Object.entries(body);
  const fields = Object.fromEntries(entries.filter(([name]) => isMailField(name)));
  const message = Buffer.from(composeMail(fields, boundary)).toString(encoding);
  const otherEntries = entries.filter(([name]) => !isMailField(name));
  const [last = '', ...outer] = into.toReversed();
  return outer.reduce<JsonValue>((inner, name) => ({ [name]: inner }), {
    ...Object.fromEntries(otherEntries),
    [last]: message,
  });
}

/** Composes the message in ASCII (RFC 5322 and MIME). */
export function composeMail(values: MailValues, boundary: string): string {
  const mail = readMail(values);
  const { headers, content } = contentOf(mail, boundary);
  return [...headersOf(mail), 'MIME-Version: 1.0', ...headers, '', content].join(newLine);
}

function headersOf(mail: Mail): string[] {
  return [
    ...addressHeaders('From', mail.from),
    ...addressHeaders('To', mail.to),
    ...addressHeaders('Cc', mail.cc),
    // The provider sends to the recipients in this header and removes the header before sending.
    ...addressHeaders('Bcc', mail.bcc),
    ...addressHeaders('Reply-To', mail.replyTo),
    ...(mail.subject === undefined ? [] : [textHeader('Subject', mail.subject)]),
    ...messageIdHeaders('In-Reply-To', mail.inReplyTo),
    ...messageIdHeaders('References', mail.references),
  ];
}

function contentOf({ text, html, attachments }: Mail, boundary: string): Entity {
  const texts = [
    ...(text === undefined && html !== undefined ? [] : [textEntity('plain', text ?? '')]),
    ...(html === undefined ? [] : [textEntity('html', html)]),
  ];
  const [only, ...others] = texts;
  const body =
    only !== undefined && others.length === 0
      ? only
      : multipart('alternative', `${boundary}-text`, texts);
  if (attachments.length === 0) return body;
  const files = attachments.map(({ filename, contentType, bytes }) =>
    base64Entity([`Content-Type: ${contentType}`, attachmentHeader(filename)], bytes),
  );
  return multipart('mixed', `${boundary}-files`, [body, ...files]);
}

function textEntity(subtype: 'plain' | 'html', text: string): Entity {
  const lines = text.replaceAll(/\r\n|\r|\n/g, newLine);
  return base64Entity([`Content-Type: text/${subtype}; charset=utf-8`], Buffer.from(lines));
}

/**
 * All content is base64, and lines of base64 never begin with hyphens. So no text and no file can
 * contain a boundary.
 */
function base64Entity(headers: readonly string[], bytes: Buffer): Entity {
  const text = bytes.toString('base64');
  const lines: string[] = [];
  for (let start = 0; start < text.length; start += base64LineCharacters) {
    lines.push(text.slice(start, start + base64LineCharacters));
  }
  return {
    headers: [...headers, 'Content-Transfer-Encoding: base64'],
    content: lines.join(newLine),
  };
}

function multipart(subtype: string, boundary: string, entities: readonly Entity[]): Entity {
  const parts = entities.map(({ headers, content }) =>
    [`--${boundary}`, ...headers, '', content, ''].join(newLine),
  );
  return {
    headers: [`Content-Type: multipart/${subtype};${newLine} boundary="${boundary}"`],
    content: `${parts.join('')}--${boundary}--${newLine}`,
  };
}
