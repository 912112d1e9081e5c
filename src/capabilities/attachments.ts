import type { Attachment, CapabilityBackend } from '../capability.ts'

/** The files that came with the turn, and only those. Each call gets copies: what it changes, no other call sees. */
export function attachmentsBackend(): CapabilityBackend<'attachments'> {
  return { open: (_declared, scope) => Object.freeze(scope.attachments.map(copyAttachment)) }
}

function copyAttachment(attachment: Attachment): Attachment {
  const { data } = attachment
  // The slice of a Buffer shares its memory; that of its parent class does not.
  const copy = typeof data === 'string' ? data : Uint8Array.prototype.slice.call(data)
  return Object.freeze({ ...attachment, data: copy })
}
