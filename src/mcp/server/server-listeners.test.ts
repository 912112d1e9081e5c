import { describe, expect, it } from 'vitest'
import type { ServerNotification } from '../connection/server-messages.ts'
import { ServerListeners } from './server-listeners.ts'

const NAMED = { name: 'toolcrib', version: '1' }
const NOTE: ServerNotification = { server: 's', method: 'notifications/message' }
const request = { ...NOTE, signal: new AbortController().signal }

describe('listeners of the shared connections', () => {
  it('all get notifications, whichever of them fails', () => {
    const heard: string[] = []
    const listeners = new ServerListeners({ onNotification: () => heard.push('own') })
    listeners.attach({
      onNotification: () => {
        throw new Error('broken')
      },
    })
    const detach = listeners.attach({ onNotification: () => heard.push('attached') })
    const client = listeners.asClient(NAMED)
    client.onNotification?.(NOTE)
    detach()
    client.onNotification?.(NOTE)
    expect(heard).toEqual(['own', 'attached', 'own'])
  })

  it('answer requests, the last one attached first, and nobody does when there is none', () => {
    const listeners = new ServerListeners()
    const client = listeners.asClient(NAMED)
    expect(client.onRequest).toBeUndefined()
    const detach = listeners.attach({ onRequest: () => 'first' })
    listeners.attach({ onNotification: () => {} })
    expect(client.onRequest?.(request)).toBe('first')
    listeners.attach({ onRequest: () => 'second' })
    expect(client.onRequest?.(request)).toBe('second')
    detach()
    expect(client.onRequest?.(request)).toBe('second')
  })
})
