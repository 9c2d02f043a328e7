import { createHash } from 'node:crypto';

export interface Note {
  readonly id: number;
  readonly board: string;
  readonly text: string;
  readonly pinned_at: string;
  readonly edited_at?: string;
}

/** The notes of one bearer key. */
export interface Notes {
  /** The notes, oldest first. */
  list(board?: string): Note[];
  /** Undefined when there is no room for another note, or for the first one of another key. */
  pin(note: Pick<Note, 'board' | 'text'>): Note | undefined;
  /** Undefined when there is no such note. */
  edit(id: number, text: string): Note | undefined;
  remove(id: number): boolean;
  exportCsv(board: string): string;
}

export interface Boards {
  of(key: string): Notes;
}

const notesMax = 200;
const keysMax = 100;

/**
 * Keeps the notes of the keys that were the first to pin a note, until the process ends. Any
 * program that reaches the port can make up keys, and these must not displace the notes of others.
 */
export function createBoards(): Boards {
  const notesByKey = new Map<string, Notes>();
  return {
    of(key) {
      const digest = createHash('sha256').update(key).digest('base64url');
      const notes = notesByKey.get(digest) ?? createNotes();
      return {
        ...notes,
        pin(note) {
          // Another request with this key may have pinned its first note since.
          const keptNotes = notesByKey.get(digest);
          if (keptNotes !== undefined) return keptNotes.pin(note);
          if (notesByKey.size >= keysMax) return undefined;
          notesByKey.set(digest, notes);
          return notes.pin(note);
        },
      };
    },
  };
}

function createNotes(): Notes {
  const notes = new Map<number, Note>();
  let lastId = 0;
  const now = () => new Date().toISOString();
  const list = (board?: string) =>
    [...notes.values()].filter((note) => board === undefined || note.board === board);
  return {
    list,
    pin({ board, text }) {
      if (notes.size >= notesMax) return undefined;
      const note = { id: (lastId += 1), board, text, pinned_at: now() };
      notes.set(note.id, note);
      return note;
    },
    edit(id, text) {
      const note = notes.get(id);
      if (note === undefined) return undefined;
      const editedNote = { ...note, text, edited_at: now() };
      notes.set(id, editedNote);
      return editedNote;
    },
    remove: (id) => notes.delete(id),
    exportCsv: (board) =>
      ['id,pinned_at,text', ...list(board).map(toCsvLine)].map((line) => `${line}\r\n`).join(''),
  };
}

/** One line of RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe. */
function toCsvLine({ id, pinned_at: pinnedAt, text }: Note): string {
  const safeText = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `${id},${pinnedAt},"${safeText.replaceAll('"', '""')}"`;
}
