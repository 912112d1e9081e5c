import type { Attachment, CapabilityBackend } from '@toolcrib/core'

/** The files attached to this turn. Each call gets its own copies, so its changes are not visible to other calls. */
export function attachmentsBackend(): CapabilityBackend<'attachments'> {
  return { open: (_declared, scope) => Object.freeze(scope.attachments.map(copyAttachment)) }
}

function copyAttachment(attachment: Attachment): Attachment {
  const { data } = attachment
  // Buffer's own slice shares memory; the one it inherits copies.
  const copy = typeof data === 'string' ? data : Uint8Array.prototype.slice.call(data)
  return Object.freeze({ ...attachment, data: copy })
}
