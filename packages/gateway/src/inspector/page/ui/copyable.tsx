import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

/** A command or an address, with a button that copies it. */
export function Copyable({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => {},
    )
  return (
    <div class="copyable">
      <pre>{text}</pre>
      {/* Browsers offer the clipboard to loopback addresses and to HTTPS only. */}
      {window.isSecureContext && (
        <button
          type="button"
          class="button quiet"
          aria-label={isCopied ? 'Copied' : 'Copy'}
          onClick={copy}
          onBlur={() => setCopied(false)}
        >
          <Icon name={isCopied ? 'check' : 'copy'} />
        </button>
      )}
    </div>
  )
}
