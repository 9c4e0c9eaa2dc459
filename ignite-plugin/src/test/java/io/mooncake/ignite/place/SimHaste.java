// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.place;

import io.mooncake.ignite.place.PlaceFrame.Answer;
import io.mooncake.ignite.place.PlaceFrame.Offer;
import io.mooncake.ignite.place.PlaceFrame.Outcome;
import java.util.Collections;

/** A seeded bug: who is offered blocks says that it has them before it has. */
public final class SimHaste {
    private SimHaste() {}

    /** What it says to the request {@link #SERVICE}. */
    public static byte[] answer(byte[] offered) {
        Offer offer = (Offer) PlaceFrameDescriptor.decode(offered);
        return PlaceFrameDescriptor.encode(
                new Answer(offer.number(), Collections.nCopies(offer.keys().size(), Outcome.STORED)));
    }

    /** Where the answers to offers go. */
    public static final String SERVICE = Offers.ANSWERS;
}
