import { inject, provide, shallowRef, type InjectionKey, type Ref } from 'vue'

import type { QueueEvent } from '@/api/types'

const KEY: InjectionKey<Readonly<Ref<readonly QueueEvent[]>>> = Symbol('sent events')

/** The events of the last change that was sent to the server: its messages name them by their index. */
export function provideSentEvents(): Ref<readonly QueueEvent[]> {
  const sent = shallowRef<readonly QueueEvent[]>([])
  provide(KEY, sent)
  return sent
}

/** The events of the last change of the page, if it sends events. */
export const useSentEvents = () => inject(KEY, undefined)
