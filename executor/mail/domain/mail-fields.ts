import { mailLimits } from '#contracts/composed-mail';
import type { MailField } from '#contracts/composed-mail';
import type { JsonValue } from '#contracts/vocabulary';
import { invalidParam, isRecord, readMailAddress } from '#templates';
import type { MailAddress } from '#templates';

export interface Attachment {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** The checked fields of a message: no value can begin another header or add a recipient. */
export interface Mail {
  readonly from: readonly MailAddress[];
  readonly to: readonly MailAddress[];
  readonly cc: readonly MailAddress[];
  readonly bcc: readonly MailAddress[];
  readonly replyTo: readonly MailAddress[];
  readonly subject: string | undefined;
  readonly text: string | undefined;
  readonly html: string | undefined;
  readonly inReplyTo: readonly string[];
  readonly references: readonly string[];
  readonly attachments: readonly Attachment[];
}

export type MailValues = Readonly<Partial<Record<MailField, JsonValue>>>;

/** More than a name and an address can have (RFC 5321 §4.5.3.1). */
const addressCharactersMax = 500;
const subjectCharactersMax = 1000;
const filenameCharactersMax = 255;
const defaultType = 'application/octet-stream';

const messageId = /^<[\x21-\x3b\x3d\x3f-\x7e]{1,500}>$/;
/** Parts of these types cannot be written in base64 (RFC 2045 §6.4). */
const compositeType = /^(?:multipart|message)\//i;
const mediaType = /^[a-z0-9!#$&^_.+-]{1,80}\/[a-z0-9!#$&^_.+-]{1,80}$/i;
const controlCharacter = /\p{Cc}/u;

/** Reads the fields that the caller gave. Throws `invalid_params` that names the field. */
export function readMail(values: MailValues): Mail {
  const mail = {
    from: addressesOf(values, 'from'),
    to: addressesOf(values, 'to'),
    cc: addressesOf(values, 'cc'),
    bcc: addressesOf(values, 'bcc'),
    replyTo: addressesOf(values, 'reply_to'),
    subject: lineOf(values.subject, 'subject', subjectCharactersMax),
    text: textOf(values.text, 'text'),
    html: textOf(values.html, 'html'),
    inReplyTo: messageIdsOf(values, 'in_reply_to'),
    references: messageIdsOf(values, 'references'),
    attachments: listOf(values.attachments, 'attachments', mailLimits.attachments).map(
      attachmentOf,
    ),
  };
  if (mail.from.length > 1) throw invalidParam('from', 'must be one mail address');
  if (mail.inReplyTo.length > 1) throw invalidParam('in_reply_to', 'must be one Message-ID');
  if (mail.to.length + mail.cc.length + mail.bcc.length > mailLimits.recipients) {
    const message = `may have ${mailLimits.recipients} recipients at most, together with cc and bcc`;
    throw invalidParam('to', message);
  }
  return mail;
}

function addressesOf(values: MailValues, name: MailField): MailAddress[] {
  const givenValue = values[name];
  const list = typeof givenValue === 'string' ? [givenValue] : givenValue;
  return listOf(list, name, mailLimits.recipients).map((value) => {
    const isShort = typeof value === 'string' && value.length <= addressCharactersMax;
    const address = isShort && value.isWellFormed() ? readMailAddress(value) : undefined;
    if (address !== undefined) return address;
    throw invalidParam(
      name,
      'must be one mail address for each value, such as ann@example.com or Ann <ann@example.com>, in ASCII; give several as several values, not separated by commas',
    );
  });
}

/** Callers copy Message-IDs from a header, which may contain several. */
function messageIdsOf(values: MailValues, name: MailField): string[] {
  const text = textOf(values[name], name)?.trim() ?? '';
  if (text === '') return [];
  const ids = text.split(/\s+/);
  if (ids.length > mailLimits.references) {
    throw invalidParam(name, `may have ${mailLimits.references} Message-IDs at most`);
  }
  if (ids.every((id) => messageId.test(id))) return ids;
  throw invalidParam(name, 'must be Message-IDs as in a header, such as <a1b2@mail.example.com>');
}

function attachmentOf(value: JsonValue): Attachment {
  const name = 'attachments';
  if (!isRecord(value))
    throw invalidParam(name, 'must be objects {filename, content_type, base64}');
  const { filename, content_type: givenType, base64, ...others } = value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw invalidParam(`${name}.${unknown.slice(0, 100)}`, 'is not a member of an attachment');
  }
  const fileLabel = `${name}.filename`;
  const line = lineOf(filename, fileLabel, filenameCharactersMax);
  if (line === undefined || line.trim() === '' || /[/\\]/.test(line)) {
    throw invalidParam(fileLabel, 'must be the name of a file, without slashes');
  }
  const contentType = givenType ?? defaultType;
  const isType = typeof contentType === 'string' && mediaType.test(contentType);
  if (!isType || compositeType.test(contentType)) {
    const message =
      'must be a media type such as application/pdf; a mail goes as application/octet-stream';
    throw invalidParam(`${name}.content_type`, message);
  }
  const bytes = Buffer.from(typeof base64 === 'string' ? base64 : '', 'base64');
  // Refuses base64 that decoders could read in two ways.
  if (bytes.toString('base64') !== base64) {
    throw invalidParam(`${name}.base64`, 'must be base64, with padding and without line breaks');
  }
  return { filename: line, contentType, bytes };
}

function listOf(value: JsonValue | undefined, name: string, max: number): readonly JsonValue[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalidParam(name, 'must be a list');
  if (value.length > max) throw invalidParam(name, `may have ${max} entries at most`);
  return value;
}

/** A text that becomes part of a header. */
function lineOf(value: JsonValue | undefined, name: string, max: number): string | undefined {
  const text = textOf(value, name);
  if (text === undefined) return undefined;
  if (text.length > max) throw invalidParam(name, `may have ${max} characters at most`);
  if (!controlCharacter.test(text)) return text;
  throw invalidParam(name, 'must be one line without control characters');
}

function textOf(value: JsonValue | undefined, name: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw invalidParam(name, 'must be a text');
  if (value.isWellFormed()) return value;
  throw invalidParam(name, 'holds half of a character (a lone surrogate)');
}
