// SPDX-License-Identifier: Apache-2.0
package io.mooncake.ignite.adapter;

import org.apache.ignite.internal.util.lang.GridPeerDeployAware;

/**
 * A job of ours that carries a user's object: under peer class loading Ignite asks it which class to deploy, and it answers with the
 * user's class, whose loader also finds ours.
 */
public interface PeerDeployable extends GridPeerDeployAware {
    /** The user's object. */
    Object payload();

    @Override
    default Class<?> deployClass() {
        return payload().getClass();
    }

    @Override
    default ClassLoader classLoader() {
        ClassLoader loader = payload().getClass().getClassLoader();
        return loader == null ? PeerDeployable.class.getClassLoader() : loader;
    }
}
